/** Interface between a router and its group. Router and group need each other; router-group.ts knows both types. */
import type { StartReason } from '../../vrrp/extensions/sync-group/agreement.ts'
import type { Millis } from '../../wire/units.ts'
import type { Cleanup } from '../guard/cleanup.ts'
import type { Group, Member } from './post-event.ts'

/** Group of routers. */
export interface Membership<R extends Member> extends Group<R> {
  /** Name of the sync group; `undefined` for a router without one. */
  readonly name: string | undefined
  readonly cleanup: Cleanup
  join(member: R): void
  leave(member: R): void
  /** Brings members that joined the group while running to consistent states. */
  settle(now: Millis, reason?: StartReason): void
  shutDown(now: Millis): void
  /**
   * Posts an absence to the members if they were silent for too long. `slept` is the time in milliseconds for which the
   * machine was suspended.
   */
  noticeStall(now: Millis, slept?: number): void
  /**
   * Posts the event `absence` if the guardian has executed the cleanup plan. Returns true if this call has posted the
   * event.
   */
  noticeExecution(now: Millis): boolean
  /** Posts to the members of the group that the guardian has executed their cleanup plan. */
  takeExecution(now: Millis): void
}
