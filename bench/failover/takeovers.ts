/**
 * How often a router took over, as the wire tells: a run of its advertisements is one takeover. Decides where one run
 * ends and the next begins: it was silent for longer than an Active one is, and a better router had spoken. Silence alone
 * may be a machine that stalls. Decides as well whether the wire had the advertisements that were missed. Pure; refuses to
 * know what was done to the wire.
 */
import { activeDownIntervalMs } from '../../src/lab/daemons/daemon.ts'

export type Advertisement = { readonly atMs: number; readonly source: string; readonly priority: number }

/** Two takeovers of one router are more than three intervals apart, two advertisements of an Active one. */
const SEPARATE = 2.5

export type Takeover = { readonly atMs: number; readonly source: string; readonly priority: number }

/** Of all but `owner`, in the order of their times. */
export function takeoversIn(
  advertisements: readonly Advertisement[],
  owner: string,
  intervalMs: number,
): readonly Takeover[] {
  const runs = new Map<string, { atMs: number; priority: number; beaten: boolean }>()
  const takeovers: Takeover[] = []
  for (const { atMs, source, priority } of advertisements) {
    for (const run of runs.values()) if (run.priority < priority) run.beaten = true
    if (source === owner || priority === 0) continue
    const before = runs.get(source)
    if (before === undefined || (before.beaten && atMs - before.atMs > SEPARATE * intervalMs))
      takeovers.push({ atMs, source, priority })
    runs.set(source, { atMs, priority, beaten: false })
  }
  return takeovers
}

/** Of an interval: what was heard last is no part of the silence after it, also where it is dated a little late. */
const LAST_HEARD = 0.1
/** What a Backup misses when nobody is late (expectedTakeovers). */
const MISSED = 3

/**
 * Before how many of them the owner itself had sent fewer than three in the Backup's Active_Down_Interval: there the
 * machine, not the loss alone, made it silent.
 */
export function lateOwners(
  takeovers: readonly Takeover[],
  advertisements: readonly Advertisement[],
  owner: string,
  intervalMs: number,
): number {
  const sent = advertisements.filter(({ source }) => source === owner)
  return takeovers.filter(({ atMs, priority }) => {
    const from = atMs - activeDownIntervalMs(priority, intervalMs) + LAST_HEARD * intervalMs
    return sent.filter((each) => each.atMs > from && each.atMs < atMs).length < MISSED
  }).length
}

/**
 * To be expected where each listener misses a `share` of the advertisements by itself: a Backup takes over when it misses
 * three in a row, as Active_Down_Interval is between three and four intervals.
 */
export function expectedTakeovers(share: number, backups: number, windowMs: number, intervalMs: number): number {
  return backups * (windowMs / intervalMs) * share ** 3 * (1 - share)
}
