/**
 * Everything that the cost benchmark knows, as it is written to bench/results/cost.json. Pure: the table is made of this
 * alone. Decides what makes a cell unmeasurable. Refuses to know how anything was measured.
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

/** How busy the machine was meanwhile. */
export type Weather = {
  /** Share of the time in which some task waited for a CPU (PSI). */
  readonly pressure: number
  /** Of one minute, at the end. */
  readonly load: number
}

export type CellResult = Cell &
  Partial<Weather> & {
    readonly at: string
    /** Absent: the group was never as it should be, or did not stay so; the figures, where there are any, are of that. */
    readonly trouble?: string
    readonly counted?: 'cgroup' | 'stat'
    /** Of the states of all routers on all nodes, while it was counted. */
    readonly changes?: number
    readonly nodesCost: readonly NodeCost[]
  }

export const START_KINDS = ['holdfast', 'engine', 'keepalived'] as const
export type StartKind = (typeof START_KINDS)[number]
/** From before the process is made, ms. */
export type Start = {
  readonly kind: StartKind
  /** Its interface has joined 224.0.0.18, seen from outside. */
  readonly joinedMs: number
  /** By its own account. */
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

/** Above it, more than the benchmark's own work waited: a figure says more of the machine (bench/failover/result.ts). */
export const NOISY_PRESSURE = 0.35

export const isSameCell = (one: Cell, other: Cell): boolean =>
  one.daemon === other.daemon &&
  one.intervalMs === other.intervalMs &&
  one.routers === other.routers &&
  one.nodes === other.nodes &&
  one.transport === other.transport

const isCalm = ({ pressure = 0 }: Partial<Weather>): boolean => pressure <= NOISY_PRESSURE

/** What a run that goes on keeps of an earlier one: all that it is not asked for, and what was as it should be, on a machine that let it. */
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

/** In the order of those given first; others come last. */
export function inOrder(first: readonly Cell[], cells: readonly CellResult[]): readonly CellResult[] {
  const place = (cell: Cell) => {
    const found = first.findIndex((one) => isSameCell(one, cell))
    return found === -1 ? first.length : found
  }
  return [...cells].sort((one, other) => place(one) - place(other))
}

/** Where two runs were not of the same version, both are said. */
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

/** Mean of the nodes of a role. */
export function cpuOf(cell: CellResult, role: NodeCost['role']): number | undefined {
  const values = cell.nodesCost.filter((node) => node.role === role).map((node) => node.cpuPerMinute)
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length
}

const MIB = 1024
export const rssMiB = (processes: readonly ProcessMemory[]): number =>
  processes.reduce((sum, { rssKiB }) => sum + rssKiB, 0) / MIB
/** Of the node of the role that has most. */
export function memoryIn(cell: CellResult, role: NodeCost['role']): readonly ProcessMemory[] {
  const [most = []] = cell.nodesCost
    .filter((node) => node.role === role)
    .map(({ processes }) => processes)
    .sort((one, other) => rssMiB(other) - rssMiB(one))
  return most
}
