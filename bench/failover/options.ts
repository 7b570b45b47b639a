/** The benchmark's command line. Decides what is accepted and what is meant when nothing is said. */
import { parseArgs } from 'node:util'
import { LINE_UPS, type LineUp } from './accident.ts'
import type { Family } from './observation.ts'
import { type Request, USUAL, wholeTable } from './plan.ts'

export type Options = {
  readonly requests: readonly Request[]
  readonly out: string
  readonly does: 'measure' | 'list' | 'render' | 'help'
  readonly resume: boolean
  /** No run begins after it; undefined: none is left out. */
  readonly limitMs: number | undefined
}

export const usage = (scenarios: readonly string[]): string => `usage: npm run bench:failover -- [options]
  --scenario LIST     of ${scenarios.join(',')}
                      (default ${USUAL.join(',')})
  --daemon LIST       of ${Object.keys(LINE_UPS).join(',')}
                      (default holdfast,keepalived; a+b: a on the first router, b on the others)
  --interval LIST     advertisement intervals, 10ms to 40.95s (default 100ms)
  --family LIST       of 4,6 (default 4)
  --runs N            per cell (default 20)
  --slow-runs N       per cell of 1 s or more (default half of them)
  --table             everything that docs/performance.md shows, in place of the five above; N runs per cell
  --resume            keep what failover.json holds and measure what is missing
  --minutes N         begin no run after that long; --resume goes on later
  --out DIRECTORY     for failover.json, failover.md and the pictures (default bench/results)
  --list              say what would be measured and how long that takes
  --render            table and pictures out of failover.json, nothing is measured
`

class Wrong extends Error {}
export const isWrong = (error: unknown): error is Error =>
  error instanceof Wrong || (error instanceof Error && 'code' in error && `${error.code}`.startsWith('ERR_PARSE_ARGS'))

function chosen<T extends string>(option: string, text: string, known: readonly T[]): T[] {
  const names = text.split(',')
  const unknown = names.find((name) => !known.some((k) => k === name))
  if (unknown !== undefined) throw new Wrong(`Cannot use --${option} "${unknown}": wanted of ${known.join(', ')}`)
  return known.filter((k) => names.includes(k))
}

function milliseconds(text: string): number {
  const [, value = '', unit] = /^(\d+(?:\.\d+)?)(ms|s)$/.exec(text) ?? []
  const ms = Number(value) * (unit === 's' ? 1000 : 1)
  if (unit !== undefined && ms >= 10 && ms <= 40_950) return ms
  throw new Wrong(`Cannot use --interval "${text}": wanted 10ms to 40.95s`)
}

function count(option: string, text: string): number {
  const value = Number(text)
  if (Number.isInteger(value) && value >= 1) return value
  throw new Wrong(`Cannot use --${option} "${text}": wanted a number from 1`)
}

const isLineUp = (name: string): name is LineUp => name in LINE_UPS

/** Throws what `isWrong` knows. */
export function readOptions(argv: readonly string[], scenarios: readonly string[], out: string): Options {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      runs: { type: 'string', default: '20' },
      'slow-runs': { type: 'string' },
      minutes: { type: 'string' },
      interval: { type: 'string', default: '100ms' },
      scenario: { type: 'string', default: USUAL.join(',') },
      daemon: { type: 'string', default: 'holdfast,keepalived' },
      family: { type: 'string', default: '4' },
      out: { type: 'string', default: out },
      table: { type: 'boolean', default: false },
      resume: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      render: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  const runs = count('runs', values.runs)
  const slowRuns = values['slow-runs'] === undefined ? Math.ceil(runs / 2) : count('slow-runs', values['slow-runs'])
  const asked: Request = {
    scenarios: chosen('scenario', values.scenario, scenarios),
    lineUps: chosen('daemon', values.daemon, Object.keys(LINE_UPS).filter(isLineUp)),
    intervals: values.interval.split(',').map(milliseconds),
    families: chosen('family', values.family, ['4', '6']).map((one): Family => (one === '4' ? 4 : 6)),
    ...{ runs, slowRuns },
  }
  return {
    requests: values.table ? wholeTable(scenarios, runs, slowRuns) : [asked],
    out: values.out,
    does: values.help ? 'help' : values.list ? 'list' : values.render ? 'render' : 'measure',
    resume: values.resume,
    limitMs: values.minutes === undefined ? undefined : 60_000 * count('minutes', values.minutes),
  }
}
