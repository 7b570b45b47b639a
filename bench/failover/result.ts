/**
 * The whole result of a benchmark, as written to bench/results/failover.json: each single run, and what a reader needs
 * to know of the machine. This file decides when a run was too noisy to judge a daemon by it. Pure: table and picture
 * need nothing else. This file does not know how it was measured.
 */
import type { Cell, Run, Theory } from './accident.ts'
import type { GaugeQuality } from './quality.ts'

export type RunRecord = {
  readonly at: string
  readonly tookMs: number
  /**
   * Share of the time in which some task waited for a CPU (PSI), 0 to 1, from the start of all daemons to the last
   * observation.
   */
  readonly pressure: number
  /** Load average of one minute, at the end. */
  readonly load: number
  /** Absent if the run has no figures; `failure` then has the reason. */
  readonly run?: Run
  readonly failure?: string
}

export type CellResult = Cell & {
  readonly title: string
  readonly theory: Theory
  /** Reason why this daemon cannot do it. */
  readonly unsupported?: string
  readonly runs: readonly RunRecord[]
}

/** One start of the benchmark. A table may be measured in several. */
export type Session = {
  readonly startedAt: string
  readonly endedAt: string
  readonly command: string
  readonly versions: Readonly<Record<string, string>>
  readonly loadBefore: number
  /** Number of runs at the same time; absent: one. */
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
 * The benchmark alone keeps some task waiting for 5 to 20 % of the time on a machine with two CPUs. Above a third,
 * other programs caused the rest. A runnable daemon then waits longer than the budgets (docs/performance.md) allow
 * beyond the protocol's own time.
 */
export const NOISY_PRESSURE = 0.35
/** Milliseconds. A probe that is this late measures a millisecond less or more. */
export const LATE_MS = 0.5
/** Milliseconds. A service that waits this long for a CPU (p99 of the round trips) causes outages of its own. */
const SLUGGISH_MS = 1
/** Share of the ticks. Each missed tick is a probe that could not be lost. */
const MISSED_SHARE = 0.02

/** Returns why the run depends more on the machine than on the daemon; `undefined` if it does not. */
export function noiseOf(cell: Pick<CellResult, 'theory'>, { pressure, run }: RunRecord): string | undefined {
  // A busy machine is the purpose of scenarios whose takeovers do not come from lost advertisements.
  if (run === undefined || (cell.theory.of === 'takeovers' && cell.theory.to === 0)) return undefined
  if (pressure > NOISY_PRESSURE) return `pressure ${(100 * pressure).toFixed(0)} %`
  if (run.gauge.lateP99Ms > LATE_MS) return `gauge ${run.gauge.lateP99Ms.toFixed(1)} ms late`
  if (run.gauge.roundTripP99Ms > SLUGGISH_MS) return `round trip ${run.gauge.roundTripP99Ms.toFixed(1)} ms`
  if (run.gauge.missedTicks > MISSED_SHARE * run.sent) return `${run.gauge.missedTicks} probes never left`
  return undefined
}

export const isSlow = ({ intervalMs }: Pick<Cell, 'intervalMs'>): boolean => intervalMs >= 1_000

/** Writes a line for each run, so that changes of the file are readable. Microseconds are exact enough. */
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
