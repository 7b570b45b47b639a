/** The guardian: the process beside the engine that executes a cleanup plan when the engine has died or is absent. */
import type { Address, Family } from '../../wire/address.ts'
import type { Millis } from '../../wire/units.ts'
import type { WantedAddress } from './network.ts'
import type { Datagram } from './sockets.ts'

/** What must happen when the engine is gone: addresses are removed first, then the packets sent. */
export type CleanupPlan = {
  /** Number of the sync group or single router. */
  readonly unit: number
  readonly name: string
  readonly remove: readonly WantedAddress[]
  readonly packets: readonly {
    readonly family: Family
    readonly interfaceIndex: number
    readonly source: Address
    readonly datagrams: readonly Datagram[]
  }[]
  /** Absent: only the death of the engine executes the plan, and its addresses live for ever. */
  readonly guard?: PlanGuard | undefined
}

/** `lifetime`: valid seconds from then on; `undefined` = for ever, whatever it had before. */
export type Renewal = WantedAddress & { readonly lifetime: number | undefined }

export type PlanGuard = {
  /**
   * Addresses of `remove` that the engine has not begun to remove; never an owner's (255). The guardian renews all of them
   * every third of the shortest lifetime; without any lifetime, once. With another period than in the plan before, it
   * renews immediately.
   */
  readonly renew: readonly Renewal[]
  /** Deadline until sent() sets another; `undefined` = the one before, or none. */
  readonly absentAt?: Millis | undefined
  /** How long after a missed deadline priority 0 is still worth sending (Skew_Time): then another node has the VIP. */
  readonly grace: Millis
}

/** Executed: the guardian removed the addresses while the engine was away; ground rule 3 says how to come back. */
export type PlanState = 'withdrawn' | 'armed' | 'executed'

export type GuardianBeat = {
  /** Milliseconds since the guardian's last beat. */
  readonly silent: Millis
  /** The guardian has begun a change of addresses, and the kernel has not completed it. */
  readonly isChanging: boolean
}

export type GuardianPort = {
  /** Replaces the unit's plan. Returns false if the one before was executed and is not acknowledged: nothing is armed. */
  arm(plan: CleanupPlan): boolean
  /**
   * Call it before an address is removed: afterwards no address of the unit is renewed, no deadline is kept, and the death of
   * the engine removes addresses without priority 0. Waits a few milliseconds at most for a renewal that is under way;
   * `late` = that was not enough, an address may still appear and has to be removed again. Acknowledges an execution.
   */
  stepDown(unit: number): { readonly executed: boolean; readonly late: boolean }
  /** Call it when the addresses are removed: the plan is forgotten. Steps down where that was not done before. */
  withdraw(unit: number): void
  /** An advertisement of the unit was really sent: from `at` on this engine counts as absent. */
  sent(unit: number, at: Millis): void
  /** Cheap: meant for before and after each batch of address changes. Without shared memory never `executed`. */
  state(unit: number): PlanState
  /** The router knows and holds nothing: arm() works again. Returns false if the guardian has not finished: ask again. */
  acknowledge(unit: number): boolean
  /** Number of plans that the guardian has executed, of all units: a turn looks at the units when it has changed. */
  readonly executions: number
  /**
   * Calls `onCall` from the event loop when the guardian has died, or the machine was suspended. Returns false if neither is
   * noticed without a look.
   */
  listen(onCall: () => void): boolean
  /** Reports that the engine lives. Returns the guardian's sign of life; `undefined` if there is no guardian. */
  beat(now: Millis): GuardianBeat | undefined
  /** False without shared memory: no deadline is kept and no lifetime renewed, so install no address with one. */
  readonly guarded: boolean
  /** False when no guardian is listening (started without one, or it has died). */
  readonly armed: boolean
}
