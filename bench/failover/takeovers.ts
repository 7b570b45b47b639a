/**
 * How often a router took over, as the wire tells: a run of its advertisements is one takeover. Decides where one run
 * ends and the next begins: it was silent for longer than an Active one is, and a better router had spoken. Silence alone
 * may be a machine that stalls. Pure; refuses to know whether there was a reason.
 */
export type Advertisement = { readonly atMs: number; readonly source: string; readonly priority: number }

/** Two takeovers of one router are more than three intervals apart, two advertisements of an Active one. */
const SEPARATE = 2.5

/** Of all but `owner`, in the order of their times. */
export function countTakeovers(advertisements: readonly Advertisement[], owner: string, intervalMs: number): number {
  const runs = new Map<string, { atMs: number; priority: number; beaten: boolean }>()
  let count = 0
  for (const { atMs, source, priority } of advertisements) {
    for (const run of runs.values()) if (run.priority < priority) run.beaten = true
    if (source === owner || priority === 0) continue
    const before = runs.get(source)
    if (before === undefined || (before.beaten && atMs - before.atMs > SEPARATE * intervalMs)) count += 1
    runs.set(source, { atMs, priority, beaten: false })
  }
  return count
}

/**
 * To be expected where each listener misses a `share` of the advertisements by itself: a Backup takes over when it misses
 * three in a row, as Active_Down_Interval is between three and four intervals.
 */
export function expectedTakeovers(share: number, backups: number, windowMs: number, intervalMs: number): number {
  return backups * (windowMs / intervalMs) * share ** 3 * (1 - share)
}
