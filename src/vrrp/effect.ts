/**
 * The orders that a virtual router gives: send, install, announce, notify. The order of the list is the contract of
 * this folder, and tests check it. On becoming Active it is advertisement, addresses, announcement, notification (RFC
 * 9568 §6.4.2). The advertisement is first, because the former Active must receive it before two hosts answer
 * (VR-TX-09).
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
  | 'rivalHeard'
  | 'lost'
  /**
   * Sent by a router in Leaving. Several routers have taken over, and the last announcement may be that of one that has
   * lost.
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
  /** Active_Down_Timer expired without any advertisement. */
  | 'activeSilent'
  /** The Active sent priority 0. */
  | 'activeReleased'
  /** The Active advertises, but with a lower priority than ours. */
  | 'lowerPriorityActive'
  /** The Active lowered its priority below ours (fastPreempt). */
  | 'activeDemoted'
  | 'higherPriorityHeard'
  | 'higherAddressHeard'
  | 'shutdown'
  | 'yield'
  | 'successorHeard'
  | 'noSuccessor'
  | 'faultCleared'
  | Absence
  /** After an absence: no advertisement arrived, and no host answered for the addresses. */
  | 'nobodyElse'
  /** After an absence: another router advertises. */
  | 'activeHeard'
  /** After an absence: another host has one of the addresses. */
  | 'addressClaimed'
  /** After an absence: advertisements may have been lost, in our queue or while the link was down. */
  | 'receptionLost'
  | 'linkWasDown'
  | Fault

/** Reason for which this Backup does not take over from an Active of lower priority. */
export type MoveSuppression =
  /** The holder changed less than `minHold` ago. */
  | 'minHold'
  /** Our priority is higher than that of the Active by no more than the margin. */
  | 'margin'
  /** The health checks that raise our priority did not confirm it in time. */
  | 'checksUnanswered'

export type Effect =
  | { readonly kind: 'sendAdvertisement'; readonly priority: number; readonly reason: AdvertisementReason }
  | { readonly kind: 'installAddresses' }
  /** Asks the LAN which host has our addresses. An answer arrives as the event `addressAnswered`. */
  | { readonly kind: 'probeAddresses' }
  | { readonly kind: 'removeAddresses'; readonly addresses: readonly Address[] }
  /**
   * Announces the addresses. `after` delays it; the announcement is dropped if the router is no longer Active by then.
   */
  | { readonly kind: 'announce'; readonly reason: 'takeover' | 'rival'; readonly after?: Millis }
  | {
      readonly kind: 'transition'
      readonly from: StateName
      readonly to: StateName
      readonly reason: TransitionReason
      /** Source of the packet that caused the transition; `undefined` if no packet did. */
      readonly peer?: Address | undefined
    }
  /** A valid packet is discarded by the state machine (RFC 9568 §6.4) and changes nothing. */
  | { readonly kind: 'refused'; readonly reason: RefusalReason; readonly source: Address }
  /**
   * Runs the health checks that raise our priority once more. Their answer, the event `checksAnswered`, is needed
   * within that time.
   */
  | { readonly kind: 'askChecks'; readonly within: Millis }
  /** Reports that this router does not take over, or not yet. Sent once for each such case. */
  | { readonly kind: 'moveSuppressed'; readonly reason: MoveSuppression; readonly source: Address; readonly at: Millis }
