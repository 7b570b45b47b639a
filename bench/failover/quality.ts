/**
 * Describes how exactly the measuring programs measured a known LAN, as figures and as text. Pure. This file does not
 * know the test itself (self-test.ts).
 */
import type { Punctuality } from './client-record.ts'

/** Milliseconds for which the measuring programs observe a LAN without any event. */
export const STEADY_MS = 2_000

export type GaugeQuality = Punctuality & {
  /**
   * Differences between two measurements of the same outages, in ms: the benchmark's client minus the prober of the
   * demo. Client and prober send one probe a millisecond.
   */
  readonly outageDifferencesMs: readonly number[]
  /** Time in which two nodes held the VIP, as the observer measured it, in ms. */
  readonly overlapMs: number
  /** Least time in which two nodes can have held the VIP, in ms. */
  readonly overlapFromMs: number
  /** Greatest time in which two nodes can have held the VIP, in ms. */
  readonly overlapToMs: number
}

/** Returns the quality as one sentence, for tables and standard error. */
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
