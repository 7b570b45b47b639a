/**
 * Defines the whole result of the cost benchmark, as bench/results/cost.json stores it. Pure: the report needs no other
 * input. This file decides what makes a cell unmeasurable. This file does not know how the cost was measured.
 */
export type CostDaemon = 'holdfast' | 'keepalived'
export type Transport = 'multicast' | 'unicast'

export type Cell = {
  readonly daemon: CostDaemon
  readonly intervalMs: number
  readonly routers: number
  readonly nodes: number
  readonly transport: Transport
}

export type ProcessMemory = {
  readonly name: string
  readonly threads: number
  readonly rssKiB: number
  readonly pssKiB: number
}

export type NodeCost = {
  readonly role: 'Active' | 'Backup'
  readonly cpuPerMinute: number
  readonly processes: readonly ProcessMemory[]
}

/** Load of the machine while a cell was measured. */
export type Weather = {
  /** Share of the measuring time in which at least one task waited for a CPU (PSI), from 0 to 1. */
  readonly pressure: number
  /** Load average of one minute, at the end of the measurement. */
  readonly load: number
}

export type CellResult = Cell &
  Partial<Weather> & {
    readonly at: string
    /**
     * Fault of the routers of this cell: the routers never reached the wanted states, or did not keep them. Figures of a
     * cell with a fault were measured in the wrong states. Absent if nothing was wrong.
     */
    readonly trouble?: string
    readonly counted?: 'cgroup' | 'stat'
    /** Number of state changes of all routers on all nodes during the measurement. */
    readonly changes?: number
    readonly nodesCost: readonly NodeCost[]
  }

export const START_KINDS = ['holdfast', 'engine', 'keepalived'] as const
export type StartKind = (typeof START_KINDS)[number]
/** Start times of a daemon, in ms since the moment before its process was created. */
export type Start = {
  readonly kind: StartKind
  /**
   * Time at which the daemon's interface joined the multicast group 224.0.0.18, as seen from outside the daemon, in ms.
   */
  readonly joinedMs: number
  /** Time at which the daemon itself reported the state Backup, in ms. */
  readonly backupMs: number
}

export type CheckCost = {
  readonly daemon: CostDaemon
  readonly asks: string
  readonly count: number
  readonly cpuPerMinute: number
  readonly runsPerSecond: number
  readonly memory: readonly ProcessMemory[]
}

export type Result = {
  readonly format: 1
  readonly machine: {
    readonly kernel: string
    readonly cpus: number
    readonly processor: string
    readonly memoryMiB: number
  }
  readonly startedAt: string
  readonly endedAt: string
  readonly command: string
  readonly versions: Readonly<Record<string, string>>
  readonly loadBefore: number
  readonly warmUpSeconds: number
  readonly seconds: number
  readonly cells: readonly CellResult[]
  readonly starts: readonly Start[]
  readonly startWeather?: Weather
  readonly checks: readonly CheckCost[]
  readonly checkWeather?: Weather
}

/**
 * CPU pressure above which a measurement is marked as noisy. Above this value, other tasks than the benchmark's own
 * waited for a CPU, and a figure depends more on the machine than on the daemon (bench/failover/result.ts).
 */
export const NOISY_PRESSURE = 0.35

export const isSameCell = (one: Cell, other: Cell): boolean =>
  one.daemon === other.daemon &&
  one.intervalMs === other.intervalMs &&
  one.routers === other.routers &&
  one.nodes === other.nodes &&
  one.transport === other.transport

const isCalm = ({ pressure = 0 }: Partial<Weather>): boolean => pressure <= NOISY_PRESSURE

/**
 * Returns the part of an earlier result that a resumed run keeps: everything that the run does not measure, and the
 * cells without trouble that no other load disturbed.
 */
export function keptOf(earlier: Result, asked: readonly Cell[], parts: readonly string[]): Result {
  const { cells, starts, startWeather, checks, checkWeather, ...rest } = earlier
  const keeps = (part: string, weather: Weather | undefined): weather is Weather =>
    weather !== undefined && (!parts.includes(part) || isCalm(weather))
  const isAsked = (cell: Cell) => parts.includes('idle') && asked.some((one) => isSameCell(one, cell))
  return {
    ...rest,
    cells: cells.filter((cell) => !isAsked(cell) || (cell.trouble === undefined && isCalm(cell))),
    ...(keeps('start', startWeather) ? { starts, startWeather } : { starts: [] }),
    ...(keeps('checks', checkWeather) ? { checks, checkWeather } : { checks: [] }),
  }
}

/** Returns the cells in the order of the list `first`. Cells that are not in the list come last. */
export function inOrder(first: readonly Cell[], cells: readonly CellResult[]): readonly CellResult[] {
  const place = (cell: Cell) => {
    const found = first.findIndex((one) => isSameCell(one, cell))
    return found === -1 ? first.length : found
  }
  return [...cells].sort((one, other) => place(one) - place(other))
}

/**
 * Returns the versions of the measured daemons. If two runs measured different versions of a daemon, both are in the
 * text.
 */
export function bothVersions(
  earlier: Readonly<Record<string, string>>,
  now: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const said = Object.entries(now).map(([name, version]) => {
    const before = earlier[name]
    return [
      name,
      before === undefined || before.split(' and ').includes(version)
        ? (before ?? version)
        : `${before} and ${version}`,
    ]
  })
  return { ...earlier, ...Object.fromEntries(said) }
}

/** Returns the mean CPU cost of the nodes with this role (Active or Backup); `undefined` if no node has the role. */
export function cpuOf(cell: CellResult, role: NodeCost['role']): number | undefined {
  const values = cell.nodesCost.filter((node) => node.role === role).map((node) => node.cpuPerMinute)
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length
}

const MIB = 1024
export const rssMiB = (processes: readonly ProcessMemory[]): number =>
  processes.reduce((sum, { rssKiB }) => sum + rssKiB, 0) / MIB
/** Returns the processes of the node that uses the most memory of all nodes with this role. */
export function memoryIn(cell: CellResult, role: NodeCost['role']): readonly ProcessMemory[] {
  const [most = []] = cell.nodesCost
    .filter((node) => node.role === role)
    .map(({ processes }) => processes)
    .sort((one, other) => rssMiB(other) - rssMiB(one))
  return most
}
