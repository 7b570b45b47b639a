/**
 * Everything that a benchmark knows, as it is written to bench/results/failover.json: each single run, and of the machine
 * what a reader needs to judge it. Decides when a run was too noisy to judge a daemon by. Pure: table and picture are made
 * of this alone. Refuses to know how anything was measured.
 */
import type { Cell, Run, Theory } from './accident.ts'
import type { GaugeQuality } from './quality.ts'

export type RunRecord = {
  readonly at: string
  readonly tookMs: number
  /** Share of the time in which some task waited for a CPU (PSI), 0 to 1, from when all daemons ran until the last look. */
  readonly pressure: number
  /** Of one minute, at the end. */
  readonly load: number
  /** Absent: it did not get as far as a figure, and `failure` says why. */
  readonly run?: Run
  readonly failure?: string
}

export type CellResult = Cell & {
  readonly title: string
  readonly theory: Theory
  /** Why this daemon cannot do it. */
  readonly unsupported?: string
  readonly runs: readonly RunRecord[]
}

/** One start of the benchmark; a table may be measured in several. */
export type Session = {
  readonly startedAt: string
  readonly endedAt: string
  readonly command: string
  readonly versions: Readonly<Record<string, string>>
  readonly loadBefore: number
  /** Runs at the same time; absent: one. */
  readonly labs?: number
  readonly gauge: GaugeQuality
}

export type Machine = {
  readonly kernel: string
  readonly cpus: number
  readonly processor: string
  readonly memoryMiB: number
}

export type Result = {
  readonly format: 2
  readonly machine: Machine
  readonly sessions: readonly Session[]
  readonly cells: readonly CellResult[]
}

export const keyOf = ({ scenario, intervalMs, family, lineUp }: Cell): string =>
  [scenario, intervalMs, family, lineUp].join(' ')

/**
 * The benchmark alone keeps some task waiting for 5 to 20 % of the time on a machine with two CPUs. Above a third, more than
 * that was somebody else's work, and a daemon that is runnable waits for longer than the budgets (docs/performance.md)
 * leave above the protocol's own time.
 */
export const NOISY_PRESSURE = 0.35
/** A probe that leaves this late measures a millisecond less or more. */
export const LATE_MS = 0.5
/** A service that is kept waiting for this long (p99 of the round trips) makes outages of its own. */
const SLUGGISH_MS = 1
/** Of the ticks; each one missed is a probe that could not be lost. */
const MISSED_SHARE = 0.02

/** Why the run says more of the machine than of the daemon; undefined: it does not. */
export function noiseOf(cell: Pick<CellResult, 'theory'>, { pressure, run }: RunRecord): string | undefined {
  // A busy machine is what is being tried, where no takeover comes of lost advertisements.
  if (run === undefined || (cell.theory.of === 'takeovers' && cell.theory.to === 0)) return undefined
  if (pressure > NOISY_PRESSURE) return `pressure ${(100 * pressure).toFixed(0)} %`
  if (run.gauge.lateP99Ms > LATE_MS) return `gauge ${run.gauge.lateP99Ms.toFixed(1)} ms late`
  if (run.gauge.roundTripP99Ms > SLUGGISH_MS) return `round trip ${run.gauge.roundTripP99Ms.toFixed(1)} ms`
  if (run.gauge.missedTicks > MISSED_SHARE * run.sent) return `${run.gauge.missedTicks} probes never left`
  return undefined
}

export const isSlow = ({ intervalMs }: Pick<Cell, 'intervalMs'>): boolean => intervalMs >= 1_000

/** A line for each run, so that a change of the file can be read; µs are enough. */
export function resultText(result: Result): string {
  const brief = (_: string, value: unknown) => (typeof value === 'number' ? Number(value.toFixed(3)) : value)
  const text = (value: unknown) => JSON.stringify(value, brief)
  const cells = result.cells.map(({ runs, ...cell }) => {
    const lines = runs.map((run) => `    ${text(run)}`).join(',\n')
    return `  ${text(cell).slice(0, -1)}, "runs": [${runs.length === 0 ? '' : `\n${lines}\n  `}]}`
  })
  const sessions = result.sessions.map((session) => `  ${text(session)}`).join(',\n')
  return [
    `{"format": ${result.format},`,
    `"machine": ${text(result.machine)},`,
    `"sessions": [\n${sessions}\n],`,
    `"cells": [\n${cells.join(',\n')}\n]}\n`,
  ].join('\n')
}
