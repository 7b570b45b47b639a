/**
 * Reads the command line of the cost benchmark. This file decides which options are accepted, which measurements
 * (cells) they select, and how long these measurements take. Pure.
 */
import { parseArgs } from 'node:util'
import type { Cell, CostDaemon, Transport } from './result.ts'

export const PARTS = ['idle', 'start', 'checks'] as const
export type Part = (typeof PARTS)[number]

export type Options = {
  readonly cells: readonly Cell[]
  readonly daemons: readonly CostDaemon[]
  readonly parts: readonly Part[]
  readonly seconds: number
  readonly warmUp: number
  readonly runs: number
  readonly checks: number
  /** Number of groups of nodes that are measured at the same time. */
  readonly groups: number
  /** True to keep those measurements of the last run into the same directory that nothing disturbed. */
  readonly resume: boolean
  readonly out: string
  readonly does: 'measure' | 'list' | 'render' | 'help'
}

/**
 * Received advertisements per second at which groups on one machine begin to disturb each other. With 2600 per second
 * on two CPUs (six groups at 10 ms), the CPU pressure was 70 % and no group kept its state.
 */
const BUSY = 800

export const USAGE = `usage: npm run bench:cost -- [options]
  --daemon LIST       of holdfast,keepalived (default both, in turn)
  --interval LIST     advertisement intervals, 10ms to 40.95s (default 1s,100ms,10ms)
  --routers LIST      virtual routers on one interface, 1 to 255 (default 1,100,255)
  --nodes LIST        2 to 5; every further one with the first of --routers only (default 2,3,5)
  --transport LIST    of multicast,unicast (default both); unicast with the first of --routers only, where both are asked
  --seconds N         counted per cell (default 45)
  --warm-up N         before that (default 30)
  --part LIST         of ${PARTS.join(',')} (default all)
  --runs N            starts of each daemon (default 20)
  --checks N          checks at once, for checks per CPU second (default 20)
  --groups N          so many groups at the same time, if their nodes send and hear ${BUSY} advertisements a second at most (default 1)
  --resume            keep what cost.json has undisturbed, measure the rest
  --out DIRECTORY     for cost.json and cost.md (default bench/results)
  --list              say what would be measured and how long that takes
  --render            the table out of cost.json, nothing is measured
`

class Wrong extends Error {}
export const isWrong = (error: unknown): error is Error =>
  error instanceof Wrong || (error instanceof Error && 'code' in error && `${error.code}`.startsWith('ERR_PARSE_ARGS'))

function chosen<T extends string>(option: string, text: string, known: readonly T[]): readonly T[] {
  const names = text.split(',')
  const unknown = names.find((name) => !known.some((one) => one === name))
  if (unknown !== undefined) throw new Wrong(`Cannot use --${option} "${unknown}": wanted of ${known.join(', ')}`)
  return known.filter((one) => names.includes(one))
}

function whole(option: string, text: string, from: number, to: number): number {
  const value = Number(text)
  if (text !== '' && Number.isInteger(value) && value >= from && value <= to) return value
  throw new Wrong(`Cannot use --${option} "${text}": wanted a number from ${from} to ${to}`)
}

const wholes = (option: string, text: string, from: number, to: number): readonly number[] => [
  ...new Set(text.split(',').map((one) => whole(option, one, from, to))),
]

function milliseconds(text: string): number {
  const [, value = '', unit] = /^(\d+(?:\.\d+)?)(ms|s)$/.exec(text) ?? []
  const ms = Number(value) * (unit === 's' ? 1000 : 1)
  if (unit !== undefined && ms >= 10 && ms <= 40_950) return ms
  throw new Wrong(`Cannot use --interval "${text}": wanted 10ms to 40.95s`)
}

type Axes = Record<'intervals' | 'routers' | 'nodes', readonly number[]> & {
  readonly daemons: readonly CostDaemon[]
  readonly transports: readonly Transport[]
}

/**
 * Returns the cells to measure. The number of routers varies only with the smallest number of nodes, and the number of
 * nodes only with the smallest number of routers. Measurements of the two daemons alternate.
 */
function cellsOf({ daemons, intervals, routers, nodes, transports }: Axes): readonly Cell[] {
  const shapes = transports.flatMap((transport, place) =>
    nodes.flatMap((count, i) =>
      routers
        .filter((_, j) => j === 0 || (i === 0 && place === 0))
        .map((each) => ({ transport, nodes: count, routers: each })),
    ),
  )
  return intervals.flatMap((intervalMs) =>
    shapes.flatMap((shape) => daemons.map((daemon) => ({ daemon, intervalMs, ...shape }))),
  )
}

/**
 * Seconds that a cell needs besides its measurement: to build the LAN and to start and end the group. Many routers need
 * more time.
 */
const aroundSeconds = ({ intervalMs, routers }: Cell): number => 4 + (4 * intervalMs) / 1000 + routers / 25

/**
 * Returns the cells in groups that are measured at the same time. A group has neighbouring cells, as many as may run
 * together.
 */
export function parties({ cells, groups }: Pick<Options, 'cells' | 'groups'>): readonly (readonly Cell[])[] {
  const rate = ({ intervalMs, routers, nodes }: Cell) => (routers * nodes * 1_000) / intervalMs
  const found: Cell[][] = []
  for (const cell of cells) {
    const last = found.at(-1)
    const busy = [...(last ?? []), cell].reduce((sum, one) => sum + rate(one), 0) > BUSY
    if (last === undefined || busy || last.length >= groups) found.push([cell])
    else last.push(cell)
  }
  return found
}

export function expectedSeconds({ parts, seconds, warmUp, runs, daemons, ...options }: Options): number {
  const each = parties(options).map((cells) => Math.max(...cells.map(aroundSeconds)) + warmUp + seconds)
  return (
    (parts.includes('idle') ? each.reduce((sum, one) => sum + one, 0) : 0) +
    (parts.includes('start') ? runs * (daemons.length + 1) * 1.5 : 0) +
    (parts.includes('checks') ? 2 * (10 + warmUp + seconds) : 0)
  )
}

/** Reads the options from the command line. Throws the errors that `isWrong` recognises. */
export function readOptions(argv: readonly string[], out: string): Options {
  const text = (otherwise: string) => ({ type: 'string', default: otherwise }) as const
  const flag = { type: 'boolean', default: false } as const
  const { values } = parseArgs({
    args: [...argv],
    options: {
      ...{ daemon: text('holdfast,keepalived'), interval: text('1s,100ms,10ms'), routers: text('1,100,255') },
      ...{ nodes: text('2,3,5'), transport: text('multicast,unicast'), seconds: text('45'), 'warm-up': text('30') },
      ...{ part: text(PARTS.join(',')), runs: text('20'), checks: text('20'), groups: text('1'), out: text(out) },
      ...{ list: flag, render: flag, resume: flag, help: flag },
    },
  })
  const daemons = chosen('daemon', values.daemon, ['holdfast', 'keepalived'])
  return {
    cells: cellsOf({
      daemons,
      intervals: [...new Set(values.interval.split(',').map(milliseconds))],
      routers: wholes('routers', values.routers, 1, 255),
      nodes: wholes('nodes', values.nodes, 2, 5),
      transports: chosen('transport', values.transport, ['multicast', 'unicast']),
    }),
    daemons,
    parts: chosen('part', values.part, PARTS),
    seconds: whole('seconds', values.seconds, 1, 86_400),
    warmUp: whole('warm-up', values['warm-up'], 0, 86_400),
    runs: whole('runs', values.runs, 1, 10_000),
    checks: whole('checks', values.checks, 1, 100),
    groups: whole('groups', values.groups, 1, 24),
    resume: values.resume,
    out: values.out,
    does: values.help ? 'help' : values.list ? 'list' : values.render ? 'render' : 'measure',
  }
}
