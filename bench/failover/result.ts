/**
 * Defines the whole result of the failover benchmark, as bench/results/failover.json stores it: each single run, and a
 * description of the machine. This file decides when the machine was too noisy to judge a daemon by a run. Pure: tables
 * and pictures need no other input. This file does not know how a figure was measured.
 */
import type { Cell, Run, Theory } from './accident.ts'
import type { GaugeQuality } from './quality.ts'

export type RunRecord = {
  readonly at: string
  readonly tookMs: number
  /**
   * Share of the time in which at least one task waited for a CPU (PSI), from 0 to 1. The time is from the start of all
   * daemons to the last observation.
   */
  readonly pressure: number
  /** Load average of one minute, at the end of the run. */
  readonly load: number
  /** Figures of the run; absent if the run failed, and `failure` then has the reason. */
  readonly run?: Run
  readonly failure?: string
}

export type CellResult = Cell & {
  readonly title: string
  readonly theory: Theory
  /** Reason why this daemon cannot do the scenario; absent if the daemon can. */
  readonly unsupported?: string
  readonly runs: readonly RunRecord[]
}

/** One start of the benchmark program. A table may be measured in several sessions. */
export type Session = {
  readonly startedAt: string
  readonly endedAt: string
  readonly command: string
  readonly versions: Readonly<Record<string, string>>
  readonly loadBefore: number
  /** Number of runs at the same time; absent: one run. */
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
 * CPU pressure above which a run is noisy. On a machine with two CPUs the benchmark alone lets some task wait for 5 to
 * 20 % of the time. Above a third, other programs cause the rest. A daemon then waits longer for a CPU than the budgets
 * (docs/performance.md) allow beyond the protocol's own time.
 */
export const NOISY_PRESSURE = 0.35
/** Milliseconds. If a probe is sent this late, the measured outage is up to a millisecond too short or too long. */
export const LATE_MS = 0.5
/**
 * Milliseconds. If the answering service waits this long for a CPU (99th percentile of the round trips), the service
 * itself causes outages.
 */
const SLUGGISH_MS = 1
/**
 * Share of the probes that may be missing because they were not sent. A missing probe cannot be lost, so it hides an
 * outage.
 */
const MISSED_SHARE = 0.02

/** Returns why a run depends more on the machine than on the daemon; `undefined` if the run does not. */
export function noiseOf(cell: Pick<CellResult, 'theory'>, { pressure, run }: RunRecord): string | undefined {
  // In scenarios that count takeovers under CPU load, a busy machine is intended.
  if (run === undefined || (cell.theory.of === 'takeovers' && cell.theory.to === 0)) return undefined
  if (pressure > NOISY_PRESSURE) return `pressure ${(100 * pressure).toFixed(0)} %`
  if (run.gauge.lateP99Ms > LATE_MS) return `gauge ${run.gauge.lateP99Ms.toFixed(1)} ms late`
  if (run.gauge.roundTripP99Ms > SLUGGISH_MS) return `round trip ${run.gauge.roundTripP99Ms.toFixed(1)} ms`
  if (run.gauge.missedTicks > MISSED_SHARE * run.sent) return `${run.gauge.missedTicks} probes never left`
  return undefined
}

export const isSlow = ({ intervalMs }: Pick<Cell, 'intervalMs'>): boolean => intervalMs >= 1_000

/**
 * Returns the text of the result file: one line for each run, so that a comparison of two versions of the file is
 * readable. Times are rounded to microseconds.
 */
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
