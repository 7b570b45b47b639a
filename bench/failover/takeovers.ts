/**
 * How often a router took over, from the wire: one series of its advertisements is one takeover. This file decides
 * where one series ends and the next begins. The router was silent for longer than an Active is, and a better router
 * had advertised; silence alone may be a machine that stalls. This file also decides whether the wire had the missed
 * advertisements. Pure. This file does not know what was done to the wire.
 */
import { activeDownIntervalMs } from '../../src/lab/daemons/daemon.ts'

export type Advertisement = { readonly atMs: number; readonly source: string; readonly priority: number }

/** Intervals. Two takeovers of one router are more than three apart, two advertisements of an Active one. */
const SEPARATE = 2.5

export type Takeover = { readonly atMs: number; readonly source: string; readonly priority: number }

/** Returns the takeovers of all routers but `holder`, in the order of their times. */
export function takeoversIn(
  advertisements: readonly Advertisement[],
  holder: string,
  intervalMs: number,
): readonly Takeover[] {
  const runs = new Map<string, { atMs: number; priority: number; beaten: boolean }>()
  const takeovers: Takeover[] = []
  for (const { atMs, source, priority } of advertisements) {
    for (const run of runs.values()) if (run.priority < priority) run.beaten = true
    if (source === holder || priority === 0) continue
    const before = runs.get(source)
    if (before === undefined || (before.beaten && atMs - before.atMs > SEPARATE * intervalMs))
      takeovers.push({ atMs, source, priority })
    runs.set(source, { atMs, priority, beaten: false })
  }
  return takeovers
}

/**
 * Share of an interval. The last received advertisement is no part of the silence after it, even with a slightly late
 * date.
 */
const LAST_HEARD = 0.1
/** Advertisements that a Backup misses without any delay (expectedTakeovers). */
const MISSED = 3

/**
 * Returns before how many takeovers the holder itself had sent fewer than three advertisements in the Backup's
 * Active_Down_Interval. There the machine, not the loss alone, made it silent.
 */
export function lateHolders(
  takeovers: readonly Takeover[],
  advertisements: readonly Advertisement[],
  holder: string,
  intervalMs: number,
): number {
  const sent = advertisements.filter(({ source }) => source === holder)
  return takeovers.filter(({ atMs, priority }) => {
    const from = atMs - activeDownIntervalMs(priority, intervalMs) + LAST_HEARD * intervalMs
    return sent.filter((each) => each.atMs > from && each.atMs < atMs).length < MISSED
  }).length
}

/**
 * Returns the expected number if each listener misses a `share` of the advertisements independently. A Backup takes
 * over when it misses three in a row, because Active_Down_Interval is between three and four intervals.
 */
export function expectedTakeovers(share: number, backups: number, windowMs: number, intervalMs: number): number {
  return backups * (windowMs / intervalMs) * share ** 3 * (1 - share)
}
