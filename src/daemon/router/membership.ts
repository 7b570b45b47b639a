/** The seam between a router and the group that it moves with: each needs the other, and router-group.ts knows both. */
import type { StartReason } from '../../vrrp/extensions/sync-group/agreement.ts'
import type { Millis } from '../../wire/units.ts'
import type { Cleanup } from '../guard/cleanup.ts'
import type { Group, Member } from './post-event.ts'

/** A group of routers R. */
export interface Membership<R extends Member> extends Group<R> {
  /** `undefined`: the router moves alone. */
  readonly name: string | undefined
  readonly cleanup: Cleanup
  join(member: R): void
  leave(member: R): void
  /** Brings members that came together while they were running to where a group can be. */
  settle(now: Millis, reason?: StartReason): void
  shutDown(now: Millis): void
  /** Tells the members if they were silent for too long. `slept`: milliseconds that the machine was suspended. */
  noticeStall(now: Millis, slept?: number): void
  /** Returns true if the guardian has acted for this engine, and the members have just been told. */
  noticeExecution(now: Millis): boolean
  /** Tells the members that the guardian has executed their plan. */
  takeExecution(now: Millis): void
}
