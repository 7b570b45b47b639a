/**
 * Reads the command line of the failover benchmark. This file decides which options are accepted, and their defaults.
 */
import { parseArgs } from 'node:util'
import { LINE_UPS, type LineUp } from './accident.ts'
import type { Family } from './observation.ts'
import { type Request, USUAL, wholeTable } from './plan.ts'
import type { Where } from './scenario.ts'

export type Options = {
  readonly requests: readonly Request[]
  readonly out: string
  readonly does: 'measure' | 'list' | 'render' | 'help'
  readonly resume: boolean
  /** Path of the page in which the short table is replaced; `undefined`: no page is changed. */
  readonly page: string | undefined
  /** Number of runs at the same time, each in a lab of its own. */
  readonly labs: number
  /** Kind of the lab's hosts: network namespaces or containers. */
  readonly where: Where
  /** Milliseconds after which no further run begins; `undefined`: no limit. */
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
  --labs N            runs at the same time, in labs of their own (default 1)
  --lab netns|compose what a router is: a network namespace, or a container of docker-compose.yml (holdfast alone, one
                      at a time; results go to build/bench-compose unless --out says otherwise; default netns)
  --resume            keep what failover.json holds and measure what is missing
  --minutes N         begin no run after that long; --resume goes on later
  --out DIRECTORY     for failover.json, failover.md and the pictures (default bench/results)
  --list              say what would be measured and how long that takes
  --render            table and pictures out of failover.json, nothing is measured
  --page FILE         put the short table there as well, where docs/performance.md has its marks
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

/** Reads the options from the command line. Throws the errors that `isWrong` recognises. */
export function readOptions(
  argv: readonly string[],
  scenarios: readonly string[],
  out: string,
  composeOut = out,
): Options {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      runs: { type: 'string', default: '20' },
      'slow-runs': { type: 'string' },
      minutes: { type: 'string' },
      labs: { type: 'string', default: '1' },
      lab: { type: 'string', default: 'netns' },
      interval: { type: 'string', default: '100ms' },
      scenario: { type: 'string', default: USUAL.join(',') },
      daemon: { type: 'string' },
      family: { type: 'string', default: '4' },
      out: { type: 'string' },
      table: { type: 'boolean', default: false },
      resume: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      render: { type: 'boolean', default: false },
      page: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  const where = values.lab
  if (where !== 'netns' && where !== 'compose') throw new Wrong(`Cannot use --lab "${where}": wanted netns or compose`)
  if (where === 'compose' && values.labs !== '1')
    throw new Wrong('Cannot use --labs with --lab compose: it has one subnet')
  const daemons = values.daemon ?? (where === 'compose' ? 'holdfast' : 'holdfast,keepalived')
  const runs = count('runs', values.runs)
  const slowRuns = values['slow-runs'] === undefined ? Math.ceil(runs / 2) : count('slow-runs', values['slow-runs'])
  const asked: Request = {
    scenarios: chosen('scenario', values.scenario, scenarios),
    lineUps: chosen('daemon', daemons, Object.keys(LINE_UPS).filter(isLineUp)),
    intervals: values.interval.split(',').map(milliseconds),
    families: chosen('family', values.family, ['4', '6']).map((one): Family => (one === '4' ? 4 : 6)),
    ...{ runs, slowRuns },
  }
  return {
    requests: values.table ? wholeTable(scenarios, runs, slowRuns) : [asked],
    out: values.out ?? (where === 'compose' ? composeOut : out),
    does: values.help ? 'help' : values.list ? 'list' : values.render ? 'render' : 'measure',
    resume: values.resume,
    page: values.page,
    labs: count('labs', values.labs),
    where,
    limitMs: values.minutes === undefined ? undefined : 60_000 * count('minutes', values.minutes),
  }
}
