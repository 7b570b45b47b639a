/**
 * The orders that a virtual router gives: send, install, announce, notify. The order of the effects of a step is a
 * contract, and tests check it. A router that becomes Active sends its advertisement, installs the addresses, announces
 * them, then notifies (RFC 9568 §6.4.2). The advertisement is first, because the former Active must receive it before
 * two hosts answer (VR-TX-09).
 */
import type { Address } from '../wire/address.ts'
import type { Millis } from '../wire/units.ts'
import type { RefusalReason } from './advertisement.ts'
import type { Absence, Fault } from './event.ts'

export type StateName = 'Initialize' | 'Backup' | 'Active' | 'Leaving' | 'Returning'

export type AdvertisementReason =
  | 'takeover'
  | 'periodic'
  | 'priorityZeroHeard'
  | 'competingActiveHeard'
  | 'lost'
  /**
   * Sent by a router in Leaving after several routers have taken over. This effect exists because the last announcement
   * on the LAN may be that of a router that has lost.
   */
  | 'contested'
  | 'priorityChanged'
  | 'parametersChanged'
  | 'shutdown'
  | 'yield'
  | 'fault'
  | 'noSuccessor'
  | 'returned'

export type TransitionReason =
  | 'startup'
  | 'owner'
  /** Active_Down_Timer expired, and no advertisement of an Active arrived in that time. */
  | 'activeSilent'
  /** The Active sent priority 0. */
  | 'activeReleased'
  /** The Active still advertises, but with a lower priority than ours. */
  | 'lowerPriorityActive'
  /** The Active lowered its own priority below ours (`fastPreempt`). */
  | 'activeDemoted'
  | 'higherPriorityHeard'
  | 'higherAddressHeard'
  | 'shutdown'
  | 'yield'
  | 'successorHeard'
  | 'noSuccessor'
  | 'faultCleared'
  | Absence
  /** After an absence of this node: no advertisement arrived, and no host answered for the addresses. */
  | 'nobodyElse'
  /** After an absence of this node: another router advertises. */
  | 'activeHeard'
  /** After an absence of this node: another host has one of the addresses. */
  | 'addressClaimed'
  /**
   * After an absence of this node: advertisements may have been lost, in our receive queue or while the link was down.
   */
  | 'receptionLost'
  | 'linkWasDown'
  | Fault

/** Reason why this Backup does not take over from an Active of lower priority. */
export type MoveSuppression =
  /** The VIPs moved to their holder less than `minHold` ago. */
  | 'minHold'
  /** Our priority is higher than that of the Active by no more than the configured margin. */
  | 'margin'
  /** The health checks that raise our priority did not confirm that priority in time. */
  | 'checksUnanswered'

export type Effect =
  | { readonly kind: 'sendAdvertisement'; readonly priority: number; readonly reason: AdvertisementReason }
  | { readonly kind: 'installAddresses' }
  /** Asks the LAN which host has our addresses. An answer arrives as the event `addressAnswered`. */
  | { readonly kind: 'probeAddresses' }
  | { readonly kind: 'removeAddresses'; readonly addresses: readonly Address[] }
  /**
   * Announces the addresses. `after` delays the announcement. If the router is no longer Active then, the announcement
   * is dropped.
   */
  | { readonly kind: 'announce'; readonly reason: 'takeover' | 'competingActive'; readonly after?: Millis }
  | {
      readonly kind: 'transition'
      readonly from: StateName
      readonly to: StateName
      readonly reason: TransitionReason
      /** Source address of the packet that caused the transition; `undefined` if no packet caused the transition. */
      readonly peer?: Address | undefined
    }
  /** The state machine discards a valid packet (RFC 9568 §6.4). The state does not change. */
  | { readonly kind: 'refused'; readonly reason: RefusalReason; readonly source: Address }
  /**
   * Runs the health checks that raise our priority once more. The results arrive as the event `checksAnswered`, and are
   * needed within `within` milliseconds.
   */
  | { readonly kind: 'askChecks'; readonly within: Millis }
  /** Reports that this router does not take over, or not yet. Sent once for each suppressed takeover. */
  | { readonly kind: 'moveSuppressed'; readonly reason: MoveSuppression; readonly source: Address; readonly at: Millis }
