/** Quality of the gauge at its test, as values and as text. Pure. This file does not know the test (self-test.ts). */
import type { Punctuality } from './client-record.ts'

/** Milliseconds of observation without an event. */
export const STEADY_MS = 2_000

export type GaugeQuality = Punctuality & {
  /** Outages that both probers saw: ours minus the demo's, ms. Both ask once a millisecond. */
  readonly outageDifferencesMs: readonly number[]
  /** Overlap as the observer saw it, and its least and greatest possible values, ms. */
  readonly overlapMs: number
  readonly overlapFromMs: number
  readonly overlapToMs: number
}

/** Returns a sentence for tables and standard error. */
export function qualityText(quality: GaugeQuality): string {
  const ms = (value: number) => value.toFixed(2)
  const { outageDifferencesMs: differences, overlapFromMs: from, overlapToMs: to } = quality
  return [
    `${quality.fifo ? 'SCHED_FIFO' : 'no SCHED_FIFO'}, probes late by ${ms(quality.lateP50Ms)} ms (median), ${ms(quality.lateP99Ms)} (p99), ${ms(quality.lateMaxMs)} (most)`,
    `round trip ${ms(quality.roundTripP50Ms)} and ${ms(quality.roundTripP99Ms)} ms`,
    `${quality.missedTicks} ticks missed in ${STEADY_MS / 1000} s`,
    `outages differ from the demo's prober by ${ms(Math.min(...differences))} to ${ms(Math.max(...differences))} ms`,
    `an overlap of ${ms(from)} to ${ms(to)} ms was seen as ${ms(quality.overlapMs)}`,
  ].join('; ')
}
