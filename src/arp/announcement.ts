/**
 * When a new Active repeats itself: rounds over all addresses at fixed offsets, then a refresh. A plan is a value that
 * is asked for its next round; it starts no timer, builds no frame and knows no state: whoever leaves Active drops the
 * plan (VR-GARP-05). How many frames an interface may send is pacer.ts.
 */
import type { Address, Family } from '../wire/address.ts'
import { type Millis, millis, plus } from '../wire/units.ts'

export type AnnouncementReason = 'takeover' | 'rival' | 'duplicate' | 'refresh'

const TAKEOVER_IPV4 = [0, 20, 100, 500, 2000, 5000].map(millis)
const RIVAL_IPV4 = [0, 50, 200].map(millis)
/** At most 3, at least a second apart (RFC 4861 §7.2.6, VR-GARP-07): whatever the reason. */
const IPV6 = [0, 1000, 2000].map(millis)
/** RFC 9568 §6.4.2 asks for one. */
export const ONE_ROUND: readonly Millis[] = [millis(0)]
export const REFRESH_EVERY: Millis = millis(60_000)

/** The defaults of docs/architecture.md, Protocol decisions; a refresh has no offsets, it has a period. */
export function announcementOffsets(reason: AnnouncementReason, family: Family): readonly Millis[] {
  if (reason === 'refresh') return []
  if (family === 'ipv6') return IPV6
  return reason === 'takeover' ? TAKEOVER_IPV4 : RIVAL_IPV4
}

export type AnnouncementPlan = {
  readonly reason: AnnouncementReason
  readonly family: Family
  readonly addresses: readonly Address[]
  /** Moments of the rounds still to come, ascending; one that is there twice is two frames for each address. */
  readonly rounds: readonly Millis[]
  /** After the last round, one every so often; undefined = none. */
  readonly every: Millis | undefined
  /** Frames for each address in such a one. */
  readonly everyCopies: number
  /** The next round is the first one of the plan. */
  readonly fresh: boolean
}

export type AnnouncementRequest = {
  readonly reason: AnnouncementReason
  readonly family: Family
  readonly addresses: readonly Address[]
  /** Offsets from startAt, as often as there are to be frames. */
  readonly at: readonly Millis[]
  readonly startAt: Millis
  readonly every?: Millis | undefined
  /** 1 by default. */
  readonly everyCopies?: number | undefined
}

export function announcementPlan(request: AnnouncementRequest): AnnouncementPlan {
  const { addresses, at, every, everyCopies = 1, family, reason, startAt } = request
  const period = every !== undefined && every > 0 ? every : undefined
  const rounds = at.map((offset) => plus(startAt, offset)).sort((a, b) => a - b)
  const first = rounds.length > 0 || period === undefined ? rounds : times(everyCopies, plus(startAt, period))
  return { reason, family, addresses, rounds: first, every: period, everyCopies, fresh: true }
}

/** Undefined: the plan is done and can be dropped. */
export const nextAnnouncementAt = (plan: AnnouncementPlan): Millis | undefined =>
  plan.addresses.length === 0 ? undefined : plan.rounds[0]

const times = (copies: number, at: Millis): readonly Millis[] => Array.from({ length: copies }, () => at)

export type DueAnnouncement = {
  readonly address: Address
  /** 0 for the first frame of the address in this round. */
  readonly copy: number
  /** When it should have gone. */
  readonly at: Millis
  /** The first frame of a takeover or an answer to a rival: not to be held back for repeats. */
  readonly first: boolean
}

/**
 * Everything due at `now`, and the plan that is left. Rounds that were missed (the process slept) are one round, the
 * largest of them: the LAN needs to hear it, not to hear it five times.
 */
export function dueFrames(
  plan: AnnouncementPlan,
  now: Millis,
): { readonly due: readonly DueAnnouncement[]; readonly plan: AnnouncementPlan } {
  const at = nextAnnouncementAt(plan)
  if (at === undefined || at > now) return { due: [], plan }
  const first = plan.fresh && plan.reason !== 'refresh'
  // All addresses once before any of them again.
  const due = Array.from({ length: largest(plan.rounds.filter((round) => round <= now)) }, (_, copy) =>
    plan.addresses.map((address) => ({ address, copy, at, first })),
  ).flat()
  // At least RetransTimer apart, as they went and not as they should have gone (RFC 4861 §7.2.6).
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

/** From now on another period; a shorter one does not wait for the end of the longer one. */
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

/** On the grid of the last round, so that a late refresh does not make the following ones late. */
function nextRefresh(rounds: readonly Millis[], every: Millis, now: Millis): Millis {
  const last = rounds.at(-1) ?? now
  return plus(last, (Math.floor((now - last) / every) + 1) * every)
}
