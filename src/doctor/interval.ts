/**
 * The smallest safe advertisement interval of a machine, from the lateness of its timers. This file decides the rule,
 * which docs/doctor.md derives, and the statistics of samples. PURE. A Backup waits for Active_Down_Interval = 3 x
 * Advertisement_Interval + Skew_Time (RFC 9568 §6.1). Advertisements are on a grid (VR-TM-09). If one advertisement is
 * lost, the next one arrives after two intervals plus its own lateness. In this case the Active keeps the VIP while the
 * lateness is below interval + Skew_Time. Skew_Time is nearly 0 for priority 254, so the rule leaves Skew_Time out.
 */
import { type Centis, centis, centisToMillis } from '../wire/units.ts'

/**
 * Factor between worst measured lateness and smallest interval. A measurement of seconds shows usual values. Once an
 * hour the values are worse, which needs a factor of two. Another factor of two covers peers with less tolerance: after
 * a demotion the guardian allows only half an interval (docs/architecture.md), and keepalived's Backups do not use
 * receive times.
 */
export const SAFETY = 4
const VERSION_3 = { least: 1, most: 4095 } as const
/**
 * Step and largest value of a version 2 interval, in hundredths of a second. Version 2 counts whole seconds (RFC 3768
 * §5.3.7).
 */
const VERSION_2 = { step: 100, most: 25_500 } as const

export type Spread = {
  readonly samples: number
  readonly p50: number
  readonly p99: number
  readonly max: number
}

/** Returns percentiles of samples by nearest rank. Without samples, all percentiles are 0. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0
  return { samples: sorted.length, p50: at(0.5), p99: at(0.99), max: sorted.at(-1) ?? 0 }
}

/** Returns the smallest safe interval for a lateness. `undefined` if no interval of this version is long enough. */
export function smallestInterval(worstMs: number, version: 2 | 3 = 3): Centis | undefined {
  const wanted = Math.max(VERSION_3.least, Math.ceil((SAFETY * worstMs) / 10))
  if (version === 3) return wanted > VERSION_3.most ? undefined : centis(wanted)
  const seconds = Math.ceil(wanted / VERSION_2.step) * VERSION_2.step
  return seconds > VERSION_2.most ? undefined : centis(seconds)
}

/** Returns how many times the worst lateness fits into the tolerance of an interval, if one advertisement is lost. */
export const lateness = (intervalMs: number, worstMs: number): number =>
  worstMs <= 0 ? Number.POSITIVE_INFINITY : intervalMs / worstMs

export const asMillis = (interval: Centis): number => centisToMillis(interval)
