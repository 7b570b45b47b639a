/**
 * Plans when a new Active announces its addresses: rounds over all addresses at fixed offsets, then a periodic refresh.
 * A plan is a value from which the next round can be read. A router that is no longer Active drops its plan
 * (VR-GARP-05). Other files have timers, frames and states. `pacer.ts` limits the frames of an interface.
 */
import type { Address, Family } from '../wire/address.ts'
import { type Millis, millis, plus } from '../wire/units.ts'

export type AnnouncementReason = 'takeover' | 'competingActive' | 'duplicate' | 'refresh'

const TAKEOVER_IPV4 = [0, 20, 100, 500, 2000, 5000].map(millis)
const COMPETING_IPV4 = [0, 50, 200].map(millis)
/** Times of IPv6 announcements for every reason: at most 3, at least a second apart (RFC 4861 §7.2.6, VR-GARP-07). */
const IPV6 = [0, 1000, 2000].map(millis)
/** An announcement without repeats, as in RFC 9568 §6.4.2. */
export const ONE_ROUND: readonly Millis[] = [millis(0)]
export const REFRESH_EVERY: Millis = millis(60_000)

/**
 * Returns the default times of the ARP or NA announcements, in milliseconds after their reason (docs/architecture.md,
 * Protocol decisions). A refresh has none, because it repeats with a period.
 */
export function announcementOffsets(reason: AnnouncementReason, family: Family): readonly Millis[] {
  if (reason === 'refresh') return []
  if (family === 'ipv6') return IPV6
  return reason === 'takeover' ? TAKEOVER_IPV4 : COMPETING_IPV4
}

export type AnnouncementPlan = {
  readonly reason: AnnouncementReason
  readonly family: Family
  readonly addresses: readonly Address[]
  /**
   * Times of the announcements still to come, in ascending order. A time that is listed twice means two frames for each
   * address.
   */
  readonly rounds: readonly Millis[]
  /** Period of the announcements after the last planned time; `undefined` means none. */
  readonly every: Millis | undefined
  /** Number of frames for each address in a periodic announcement. */
  readonly everyCopies: number
  /** True until the first announcement of this plan has been sent. */
  readonly fresh: boolean
}

export type AnnouncementRequest = {
  readonly reason: AnnouncementReason
  readonly family: Family
  readonly addresses: readonly Address[]
  /** Times of the announcements from `startAt`, each listed as often as there are frames for each address. */
  readonly at: readonly Millis[]
  readonly startAt: Millis
  readonly every?: Millis | undefined
  /** Number of frames for each address in a periodic announcement; absent = 1. */
  readonly everyCopies?: number | undefined
}

export function announcementPlan(request: AnnouncementRequest): AnnouncementPlan {
  const { addresses, at, every, everyCopies = 1, family, reason, startAt } = request
  const period = every !== undefined && every > 0 ? every : undefined
  const rounds = at.map((offset) => plus(startAt, offset)).sort((a, b) => a - b)
  const first = rounds.length > 0 || period === undefined ? rounds : times(everyCopies, plus(startAt, period))
  return { reason, family, addresses, rounds: first, every: period, everyCopies, fresh: true }
}

/** Returns the time of the next announcement; `undefined` if the plan is done and can be dropped. */
export const nextAnnouncementAt = (plan: AnnouncementPlan): Millis | undefined =>
  plan.addresses.length === 0 ? undefined : plan.rounds[0]

const times = (copies: number, at: Millis): readonly Millis[] => Array.from({ length: copies }, () => at)

export type DueAnnouncement = {
  readonly address: Address
  /** Number of the frame within its announcement: 0 for the first frame of the address. */
  readonly copy: number
  /** Time at which the announcement frame was due. */
  readonly at: Millis
  /**
   * True for the first frame after a takeover or a competing Active. Such a first frame must not wait behind repeats.
   */
  readonly first: boolean
}

/**
 * Returns the announcement frames that are due at `now`, and the rest of the plan. If the process slept, the largest of
 * the missed announcements is sent, because the LAN needs it once, not five times.
 */
export function dueFrames(
  plan: AnnouncementPlan,
  now: Millis,
): { readonly due: readonly DueAnnouncement[]; readonly plan: AnnouncementPlan } {
  const at = nextAnnouncementAt(plan)
  if (at === undefined || at > now) return { due: [], plan }
  const first = plan.fresh && plan.reason !== 'refresh'
  // Each address is announced once before any of them is repeated.
  const due = Array.from({ length: largest(plan.rounds.filter((round) => round <= now)) }, (_, copy) =>
    plan.addresses.map((address) => ({ address, copy, at, first })),
  ).flat()
  // Frames are at least RetransTimer apart, counted from when they were sent, not from when they were due (RFC 4861
  // §7.2.6).
  const late = plan.family === 'ipv6' ? now - at : 0
  const left = plan.rounds.filter((round) => round > now).map((round) => plus(round, late))
  const ended = left.length === 0 && plan.every !== undefined
  const rounds = ended ? times(plan.everyCopies, nextRefresh(plan.rounds, plan.every, now)) : left
  return { due, plan: { ...plan, rounds, fresh: false } }
}

function largest(moments: readonly Millis[]): number {
  const counts = new Map<Millis, number>()
  for (const at of moments) counts.set(at, (counts.get(at) ?? 0) + 1)
  return Math.max(0, ...counts.values())
}

/** Changes the period of an announcement plan. A shorter period does not wait for the end of a longer one. */
export function withPeriod(
  before: AnnouncementPlan,
  every: Millis | undefined,
  now: Millis,
  everyCopies = 1,
): AnnouncementPlan {
  const plan = { ...before, everyCopies }
  if (every === plan.every) return plan
  if (every === undefined || new Set(plan.rounds).size > 1) return { ...plan, every }
  const soonest = plus(now, every)
  const at = millis(Math.min(plan.rounds[0] ?? soonest, soonest))
  return { ...plan, every, rounds: times(Math.max(1, plan.rounds.length), at) }
}

/**
 * Returns the time of the next refresh, counted from the last planned time. For this reason a late refresh does not
 * delay the following refreshes.
 */
function nextRefresh(rounds: readonly Millis[], every: Millis, now: Millis): Millis {
  const last = rounds.at(-1) ?? now
  return plus(last, (Math.floor((now - last) / every) + 1) * every)
}
