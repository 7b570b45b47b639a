/**
 * The way of an event into a state: the group of the router decides a step for each member, each member applies its own,
 * then the cleanup plan follows. Decides only that order. What a step is, is vrrp/'s; how a router applies one, router.ts's.
 */
import type { Event } from '../../vrrp/event.ts'
import type { GroupStep } from '../../vrrp/extensions/sync-group/sync-group.ts'
import type { Millis } from '../../wire/units.ts'

/** A virtual router, as an event needs it. */
export interface Member {
  /** It has addresses in the kernel. */
  readonly holds: boolean
  apply(step: GroupStep, now: Millis): void
}

export interface Group<M extends Member> {
  readonly members: readonly M[]
  readonly cleanup: { arm(): void; settleLater(): void }
  /** Returns one step for each member, in their order, for something that happened to `member`; none if it has to wait. */
  step(member: M, event: Event, now: Millis): readonly GroupStep[]
}

export function postEvent<M extends Member>(router: M & { readonly group: Group<M> }, event: Event, now: Millis): void {
  const { group } = router
  applySteps(group, group.step(router, event, now), now)
}

export function applySteps<M extends Member>(
  { cleanup, members }: Omit<Group<M>, 'step'>,
  steps: readonly GroupStep[],
  now: Millis,
): void {
  let begins = false
  let ends = false
  for (const [i, step] of steps.entries()) {
    const member = members[i]
    if (member === undefined) continue
    const before = member.holds
    member.apply(step, now)
    if (member.holds !== before) {
      begins ||= !before
      ends ||= before
    }
  }
  // The plan comes before the first address, so that no crash can leave one behind.
  if (begins) cleanup.arm()
  if (ends) cleanup.settleLater()
}
