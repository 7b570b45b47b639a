/**
 * Counts how often a router took over, from the packets on the wire: one series of the router's advertisements is one
 * takeover. This file decides where a series ends. Before a new series, the router was silent for longer than an Active
 * is, and a router of higher priority had advertised. Silence alone may be a stalled machine. This file also decides
 * whether the advertisements that a Backup missed were on the wire. Pure. This file does not know what was done to the
 * wire.
 */
import { activeDownIntervalMs } from '../../src/lab/daemons/daemon.ts'

export type Advertisement = { readonly atMs: number; readonly source: string; readonly priority: number }

/**
 * Advertisement_Intervals. Two takeovers of one router are more than three intervals apart, two advertisements of an
 * Active are one interval apart.
 */
const SEPARATE = 2.5

export type Takeover = { readonly atMs: number; readonly source: string; readonly priority: number }

/** Returns the takeovers of all routers except `holder`, in the order of time. */
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
 * Share of an Advertisement_Interval. The advertisement that a Backup received last is not part of the silence after
 * it, even if its time stamp is slightly late.
 */
const LAST_HEARD = 0.1
/**
 * Number of advertisements in a row that a Backup misses before it takes over (expectedTakeovers), if nothing is
 * delayed.
 */
const MISSED = 3

/**
 * Returns the number of takeovers before which the holder itself had sent fewer than three advertisements within the
 * Backup's Active_Down_Interval. In these cases the machine delayed the holder, and the loss of advertisements was not
 * the only cause.
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
 * Returns the expected number of takeovers if each receiver misses a `share` of the advertisements independently. A
 * Backup takes over when it misses three advertisements in a row, because Active_Down_Interval is between three and
 * four intervals.
 */
export function expectedTakeovers(share: number, backups: number, windowMs: number, intervalMs: number): number {
  return backups * (windowMs / intervalMs) * share ** 3 * (1 - share)
}
