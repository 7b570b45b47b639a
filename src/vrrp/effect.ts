/**
 * What a virtual router wants done, as orders. Their order in the list is the contract of this folder and is tested:
 * on becoming Active it is advertisement, addresses, announcement, notification (RFC 9568 §6.4.2; VR-TX-09: the former
 * Active must receive the advertisement before two hosts answer).
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
  /** By a router that leaves: several have followed, and clients may have heard a loser last. */
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
  /** Active_Down_Timer ran out and nothing had been heard. */
  | 'activeSilent'
  /** The Active sent priority 0. */
  | 'activeReleased'
  /** The Active is there, but with a lower priority than ours. */
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
  /** After an absence: nothing was heard, and no host answered for the addresses. */
  | 'nobodyElse'
  /** After an absence: another router advertises. */
  | 'activeHeard'
  /** After an absence: another host has one of the addresses. */
  | 'addressClaimed'
  /** After an absence: advertisements sent meanwhile may have been lost, in our queue or on a dead link. */
  | 'receptionLost'
  | 'linkWasDown'
  | Fault

/** Why an Active that is below us is left alone for now. */
export type MoveSuppression =
  /** The holder has changed a moment ago. */
  | 'minHold'
  /** Our advantage is not greater than the margin. */
  | 'margin'
  /** The checks that give us the advantage did not confirm it in time. */
  | 'checksUnanswered'

export type Effect =
  | { readonly kind: 'sendAdvertisement'; readonly priority: number; readonly reason: AdvertisementReason }
  | { readonly kind: 'installAddresses' }
  /** Ask the LAN for our addresses; an answer comes back as `addressAnswered`. */
  | { readonly kind: 'probeAddresses' }
  | { readonly kind: 'removeAddresses'; readonly addresses: readonly Address[] }
  /** `after`: not immediately, and not at all if the router is no longer Active by then. */
  | { readonly kind: 'announce'; readonly reason: 'takeover' | 'rival'; readonly after?: Millis }
  | {
      readonly kind: 'transition'
      readonly from: StateName
      readonly to: StateName
      readonly reason: TransitionReason
      /** The router whose packet caused it, where one did. */
      readonly peer?: Address | undefined
    }
  /** A valid packet that changed nothing (the "discard" of RFC 9568 §6.4). */
  | { readonly kind: 'refused'; readonly reason: RefusalReason; readonly source: Address }
  /** Run the checks that give us the advantage once more: `checksAnswered`, of no use later than that. */
  | { readonly kind: 'askChecks'; readonly within: Millis }
  /** Sent once for each move that does not happen, or not yet. */
  | { readonly kind: 'moveSuppressed'; readonly reason: MoveSuppression; readonly source: Address; readonly at: Millis }
