/**
 * The port of the guardian, the process beside the engine that executes a cleanup plan when the engine has died or
 * hangs. The guardian's clock repeats advertisements for the engine.
 */
import type { Address, Family } from '../../wire/address.ts'
import type { Millis } from '../../wire/units.ts'
import type { WantedAddress } from './network.ts'
import type { RestartPort } from './restart.ts'
import type { Datagram } from './sockets.ts'

/**
 * Work of the guardian after the engine has died or hangs: the guardian first removes the addresses, then sends the
 * packets.
 */
export type CleanupPlan = {
  /** Number of the unit that the plan protects. A unit is a sync group, or a router without a group. */
  readonly unit: number
  readonly name: string
  readonly remove: readonly WantedAddress[]
  readonly packets: readonly {
    readonly family: Family
    readonly interfaceIndex: number
    readonly source: Address
    readonly datagrams: readonly Datagram[]
  }[]
  /**
   * Renewal and deadline of the plan; absent = only the death of the engine executes the plan, and the addresses have
   * no lifetime.
   */
  readonly guard?: PlanGuard | undefined
}

/**
 * Address that the guardian renews. `lifetime` is the valid time in seconds; `undefined`: the address gets an endless
 * lifetime, whatever its lifetime was before.
 */
export type Renewal = WantedAddress & { readonly lifetime: number | undefined }

export type PlanGuard = {
  /**
   * Addresses of `remove` that the engine has not begun to remove, never those of an owner (255). The guardian renews
   * these addresses after each third of the shortest lifetime. If no address has a lifetime, the guardian renews once.
   * If the period differs from that of the last plan, the guardian renews immediately.
   */
  readonly renew: readonly Renewal[]
  /**
   * Deadline of the plan until sent() sets another deadline; `undefined`: the deadline of the last plan stays, or the
   * plan has no deadline.
   */
  readonly absentAt?: Millis | undefined
  /**
   * Milliseconds after a missed deadline in which priority 0 is still useful (Skew_Time). Later another node has the
   * VIP.
   */
  readonly grace: Millis
}

/**
 * State of a cleanup plan. `executed`: the guardian removed the addresses while the engine was away; ground rule 3 says
 * how the router returns.
 */
export type PlanState = 'withdrawn' | 'armed' | 'executed'

export type GuardianBeat = {
  /** Milliseconds since the guardian's last beat. */
  readonly silent: Millis
  /** True if the guardian has begun a change of addresses that the kernel has not completed. */
  readonly isChanging: boolean
}

/**
 * Part of a round of the clock: a packet or an Ethernet frame. The frame goes with each round whose number `every`
 * divides; if `every` is absent, with each round. At least one packet goes with each round.
 */
export type ClockRecord = { readonly every?: number } & (
  | { readonly datagram: Datagram }
  | { readonly frame: Uint8Array }
)

/** Frames that the clock sends for a router, and their times. */
export type ClockOrder = {
  /** Number of the router's slot in the memory that engine and guardian share. */
  readonly slot: number
  /** Unit of the cleanup plan that protects the router. */
  readonly unit: number
  readonly family: Family
  readonly vrid: number
  readonly interfaceIndex: number
  /** Source address of the router. A packet of another source stops the clock until the engine has read that packet. */
  readonly source: Address
  readonly period: Millis
  /** Time at which the clock sends the first round of this order. */
  readonly first: Millis
  /**
   * Milliseconds by which the rounds of this order move towards an earlier time, each round by at most a 50th of the
   * period. With this advance, rounds of many routers share a wake-up.
   */
  readonly advance: Millis
  /** Time of the last advertisement that the engine has sent. */
  readonly sentAt: Millis
  /** Frames of a round, in the order of sending. */
  readonly records: readonly ClockRecord[]
}

export type ClockReading = {
  /** Time of the last advertisement, of the engine or the clock; `undefined` if the slot never had an order. */
  readonly sentAt: Millis | undefined
  /** Number of rounds that the clock has sent for this slot since the shared memory exists. */
  readonly sent: number
  /** Number of rounds that the clock could not send for this slot since the shared memory exists. */
  readonly failed: number
  /** Greatest lateness in milliseconds with which the clock sent a round since the last reading. */
  readonly latest: number
  /** True if the clock has stopped sending for this slot by itself. */
  readonly isStopped: boolean
  /** True if the clock is sending a round of this slot and did not end the round in time. */
  readonly isBusy: boolean
}

/**
 * The clock: a thread of the guardian that repeats advertisements while the engine proves that it has read everything
 * (docs/adr/0086).
 */
export type ClockPort = {
  /**
   * Starts the clock of a router: from then on the guardian repeats the router's advertisements. Returns false, and
   * starts nothing, while the guardian is still sending the frames of an earlier order.
   */
  arm(order: ClockOrder): boolean
  /** Stops the clock of a router, and waits a few milliseconds for the end of a round that is being sent. */
  withdraw(slot: number): ClockReading
  read(slot: number): ClockReading
  /** Deletes the clock's order for a slot, because the router of the slot is removed. */
  forget(slot: number): void
  /** Lets the guardian itself watch the deadline of a unit again, without the clock. */
  release(unit: number): void
  /** Wakes the engine at the time `at`, unless the clock sends rounds until then. */
  cover(at: Millis): void
  /**
   * Proves that every packet of the queues was read and that no alarm is overdue. Returns false if that is not so.
   * After false, the engine gives the proof later, when it is true.
   */
  prove(): boolean
  /** Calls `onCover` from the event loop if the clock is late or has stopped. */
  listen(onCover: () => void): void
}

export type GuardianPort = {
  /**
   * Replaces the cleanup plan of the unit. Returns false, and arms nothing, if the last plan was executed and not
   * acknowledged.
   */
  arm(plan: CleanupPlan): boolean
  /**
   * Ends the protection of a unit, before the engine removes the addresses of the unit. After this call the guardian
   * renews no address and checks no deadline. If the engine dies later, the guardian removes the addresses without
   * priority 0. Waits at most a few milliseconds for a renewal under way. `late` is true if the renewal had not ended
   * by then: an address may reappear and must be removed again. This call also acknowledges an execution of the plan.
   */
  stepDown(unit: number): { readonly executed: boolean; readonly late: boolean }
  /**
   * Deletes the cleanup plan of the unit, after its addresses were removed. Calls stepDown() first if that was not
   * done.
   */
  withdraw(unit: number): void
  /** Reports to the guardian that an advertisement of the unit was sent. From `at` on, this engine counts as absent. */
  sent(unit: number, at: Millis): void
  /**
   * Returns the state of a cleanup plan. The call is fast enough to be made before and after each batch of address
   * changes. Without shared memory the state is never `executed`.
   */
  state(unit: number): PlanState
  /**
   * Acknowledges that the guardian has executed a plan: the router knows this and has no addresses, so arm() works
   * again. Returns false if the guardian has not finished; call it again later.
   */
  acknowledge(unit: number): boolean
  /**
   * Number of cleanup plans that the guardian has executed, of all units. If the number changes, the next turn looks at
   * the units.
   */
  readonly executions: number
  /**
   * Calls `onCall` from the event loop when the guardian has died or the machine was suspended. Returns false if the
   * port cannot notice these events.
   */
  listen(onCall: () => void): boolean
  /**
   * Watches the guardian without waking the engine, after listen(). Calls the listener once: after `patience` ms
   * without a beat, and after `within` ms in any case. A new call replaces the times. Returns false if the port cannot
   * watch. The engine then looks at beat() itself.
   */
  watch?(patience: number, within: number): boolean
  /**
   * Publishes the engine's beat: this process is alive. Returns the last beat of the guardian; `undefined` if there is
   * no guardian.
   */
  beat(now: Millis): GuardianBeat | undefined
  /**
   * True if engine and guardian share memory. Without shared memory the guardian checks no deadline and renews no
   * lifetime, so addresses must have no lifetime.
   */
  readonly guarded: boolean
  /** True while a guardian runs. False if no guardian was started, or the guardian has died. */
  readonly armed: boolean
  /** Clock of the guardian, which repeats advertisements; absent if the guardian has none. */
  readonly clock?: ClockPort | undefined
  /** Restart of the engine without a move of its addresses; absent if the guardian cannot do that. */
  readonly restart?: RestartPort | undefined
}
