/**
 * Passes an event to a router. Clock and watch stop first. After clock and watch, the group decides a step for each
 * member, each member applies its own step, and the cleanup plan follows. This file decides only that order. vrrp/
 * decides the steps, and router.ts applies them.
 */
import type { Event } from '../../vrrp/event.ts'
import type { GroupStep } from '../../vrrp/extensions/sync-group/sync-group.ts'
import type { Millis } from '../../wire/units.ts'

/** The fields of a virtual router that an event uses. */
export interface Member {
  /** True if the router has addresses in the kernel. */
  readonly holds: boolean
  apply(step: GroupStep, now: Millis): void
}

export interface Group<M extends Member> {
  readonly members: readonly M[]
  readonly cleanup: { arm(): void; settleLater(): void }
  /**
   * Takes the advertisements of all members back from the clock, because the next ones may differ. Ends the watches of
   * all members, because the next advertisement may mean more than a repetition.
   */
  withdrawClocks(): void
  /**
   * Returns the state transitions that an event of `member` causes: one step for each member of the group, in the order
   * of the members. Empty if the group has to wait.
   */
  step(member: M, event: Event, now: Millis): readonly GroupStep[]
}

export function postEvent<M extends Member>(router: M & { readonly group: Group<M> }, event: Event, now: Millis): void {
  const { group } = router
  group.withdrawClocks()
  applySteps(group, group.step(router, event, now), now)
}

export function applySteps<M extends Member>(
  { cleanup, members }: Omit<Group<M>, 'step' | 'withdrawClocks'>,
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
  // The plan is armed before the first address is installed, so that no crash can leave an address behind.
  if (begins) cleanup.arm()
  if (ends) cleanup.settleLater()
}
