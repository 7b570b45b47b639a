/**
 * The smallest safe advertisement interval of a machine, out of how late its timers are. Decided here: the rule, which
 * docs/doctor.md derives, and how samples are put in order. PURE. Refuses to know whose timers they are.
 *
 * A Backup waits for Active_Down_Interval = 3 x Advertisement_Interval + Skew_Time (RFC 9568 §6.1). Our advertisements are
 * on a grid (VR-TM-09): with one of them lost, the next comes after two intervals and its own lateness, so lateness <
 * interval + Skew_Time keeps the addresses; Skew_Time goes towards 0 with priority 254 and is not counted on.
 */
import { type Centis, centis, centisToMillis } from '../wire/units.ts'

/**
 * A run of seconds sees what is usual; once an hour it is worse. Two for that, and two because the guardian allows half an
 * interval only after a demotion (docs/architecture.md), as keepalived's own Backups, which know no receive time, may be late as well.
 */
export const SAFETY = 4
const VERSION_3 = { least: 1, most: 4095 } as const
/** RFC 3768 §5.3.7 counts seconds. */
const VERSION_2 = { step: 100, most: 25_500 } as const

export type Spread = {
  readonly samples: number
  readonly p50: number
  readonly p99: number
  readonly max: number
}

/** Nearest rank. Of nothing: zeros, and `samples` says so. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0
  return { samples: sorted.length, p50: at(0.5), p99: at(0.99), max: sorted.at(-1) ?? 0 }
}

/** Undefined: none of this version is long enough. */
export function smallestInterval(worstMs: number, version: 2 | 3 = 3): Centis | undefined {
  const wanted = Math.max(VERSION_3.least, Math.ceil((SAFETY * worstMs) / 10))
  if (version === 3) return wanted > VERSION_3.most ? undefined : centis(wanted)
  const seconds = Math.ceil(wanted / VERSION_2.step) * VERSION_2.step
  return seconds > VERSION_2.most ? undefined : centis(seconds)
}

/** How many times the worst lateness an interval stands, with one advertisement lost. */
export const standing = (intervalMs: number, worstMs: number): number =>
  worstMs <= 0 ? Number.POSITIVE_INFINITY : intervalMs / worstMs

export const asMillis = (interval: Centis): number => centisToMillis(interval)
