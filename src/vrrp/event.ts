/**
 * What can happen to a virtual router, as facts. `startup`, `shutdown`, `advertisementReceived` and `deadlineReached` are the
 * events of RFC 9568 §6.4 (fsm.ts); the others belong to extensions/. Advertisements have passed receive.ts. Refuses to know
 * where a fact came from: a socket, a test and a simulator post the same values.
 */
import type { Address } from '../wire/address.ts'
import type { Millis } from '../wire/units.ts'
import type { Advertisement } from './advertisement.ts'
import type { Parameters } from './parameters.ts'

/** The member of our sync group that is in the way (VR-SG-01, VR-SG-02). */
export type GroupFault = `syncGroup:${string}`

/** Why a router cannot take part; each is also the reason of the transition it causes. */
export type Fault =
  /** The configuration turns the router off. */
  | 'configured'
  | 'interfaceMissing'
  | 'linkDown'
  /** A port of a bridge, bond, team or switch: what it receives goes there, and silence proves nothing. */
  | 'interfaceIsPort'
  | 'sourceAddressMissing'
  | 'socketFailed'
  /** Another router of this node has the VRID on this interface and family. */
  | 'vridTaken'
  /** The advertisement does not fit into the interface's MTU (VR-PKT-10). */
  | 'messageTooLarge'
  /** Another program removes our addresses again and again. */
  | 'restorationsPaused'
  | 'addressInstallFailed'
  /** Another router has our addresses and would win, but its advertisements do not reach us. */
  | 'duplicateHolder'
  /** Where one of its addresses is to be, which is not its own interface. */
  | `addressInterfaceDown:${string}`
  | `trackedInterfaceDown:${string}`
  | `healthcheckDown:${string}`
  /** No result yet, and the router was not running before (VR-TRK-05). */
  | `healthcheckUndecided:${string}`
  | GroupFault

/** How a node finds out that it was away: its guardian has acted for it, or its own clock tells. */
export type Absence = 'willExecuted' | 'stalled'

export type Event =
  | { readonly kind: 'startup' }
  | { readonly kind: 'shutdown' }
  /** Step aside although nothing is wrong; the caller lowers the effective priority to 1 first. */
  | { readonly kind: 'yield' }
  | {
      readonly kind: 'advertisementReceived'
      readonly source: Address
      readonly advertisement: Advertisement
      /** Dates the next deadline; whether the packet counts does not depend on it (ground rule 2). */
      readonly receivedAt: Millis
    }
  /** A gratuitous ARP or Neighbor Advertisement of another host for one of our addresses. */
  | { readonly kind: 'claimHeard'; readonly address: Address; readonly heardAt: Millis }
  /** Another host answered our question for one of our addresses, while we have it or want it back. */
  | {
      readonly kind: 'addressAnswered'
      readonly address: Address
      readonly heardAt: Millis
      /** The answer names the virtual MAC of this VRID (RFC 9568 §7.3). */
      readonly virtualMac?: boolean
    }
  /** Packets to this unicast peer that had to wait have left, the earlier ones too. */
  | { readonly kind: 'peerReached'; readonly peer: Address }
  | {
      readonly kind: 'deadlineReached'
      /**
       * Packets were lost in the kernel's queue, or this process slept longer than Active_Down_Interval. For a router in
       * Returning only the queue counts: it knows that it slept, and the queue was empty all the time if it is empty now.
       */
      readonly receptionLost: boolean
    }
  /** Posted before anything that has waited meanwhile is read; once for a sync group (ground rule 3). */
  | {
      readonly kind: 'absenceNoticed'
      readonly cause: Absence
      /** All the time, as far as the kernel tells, and of every member: otherwise silence proves nothing. */
      readonly linkWasUp: boolean
    }
  /**
   * The answer to `askChecks`. Failures have come before, as a changed priority. `assured`: our priority if each check that
   * has not answered in time had failed.
   */
  | { readonly kind: 'checksAnswered'; readonly assured: number }
  /** `parameters.priority` is the new one. */
  | { readonly kind: 'priorityChanged'; readonly previous: number }
  /** A reload: the parameters are new, of the same virtual router (VRID, interface, version, family). */
  | { readonly kind: 'parametersChanged'; readonly previous: Parameters }
  | { readonly kind: 'faultRaised'; readonly fault: Fault; readonly canSend: boolean }
  | { readonly kind: 'faultCleared'; readonly fault: Fault }

/** Every kind of event, once. */
export const EVENT_KINDS = Object.keys({
  startup: true,
  shutdown: true,
  yield: true,
  advertisementReceived: true,
  claimHeard: true,
  addressAnswered: true,
  peerReached: true,
  deadlineReached: true,
  absenceNoticed: true,
  checksAnswered: true,
  priorityChanged: true,
  parametersChanged: true,
  faultRaised: true,
  faultCleared: true,
} satisfies Record<Event['kind'], true>) as readonly Event['kind'][]
