/**
 * The facts that a virtual router receives. `startup`, `shutdown`, `advertisementReceived` and `deadlineReached` are
 * the events of RFC 9568 §6.4 (fsm.ts). The others belong to extensions/. Advertisements have passed receive.ts. This
 * file does not know where a fact comes from: a socket, a test and a simulator post the same values.
 */
import type { Address } from '../wire/address.ts'
import type { Millis } from '../wire/units.ts'
import type { Advertisement } from './advertisement.ts'
import type { Parameters } from './parameters.ts'

/** Fault of a member of a sync group because another member, named in it, cannot be Active (VR-SG-01, VR-SG-02). */
export type GroupFault = `syncGroup:${string}`

/**
 * Reason for which a router cannot take part in the election. Each is also the reason of the transition that it causes.
 */
export type Fault =
  /** The configuration turns the router off. */
  | 'configured'
  | 'interfaceMissing'
  | 'linkDown'
  /**
   * The interface is a port of a bridge, bond, team or switch. Packets go to the bridge, so silence on the port proves
   * nothing.
   */
  | 'interfaceIsPort'
  | 'sourceAddressMissing'
  | 'socketFailed'
  /** Another router of this node uses the same VRID on the same interface and address family. */
  | 'vridTaken'
  /** The advertisement is larger than the MTU of the interface (VR-PKT-10). */
  | 'messageTooLarge'
  /** Another program removes our addresses repeatedly. */
  | 'restorationsPaused'
  | 'addressInstallFailed'
  /** Another router has our addresses and would win the election, but its advertisements do not reach us. */
  | 'duplicateHolder'
  /** An interface other than the router's own, on which one of its addresses belongs, is down. */
  | `addressInterfaceDown:${string}`
  | `trackedInterfaceDown:${string}`
  | `healthcheckDown:${string}`
  /** A health check has no result yet, and the router was not running before (VR-TRK-05). */
  | `healthcheckUndecided:${string}`
  | GroupFault

/** How a node notices that it was away: its guardian executed the cleanup plan, or its clock shows a stall. */
export type Absence = 'willExecuted' | 'stalled'

export type Event =
  | { readonly kind: 'startup' }
  | { readonly kind: 'shutdown' }
  /**
   * Hands the addresses to another router although nothing is wrong. The caller lowers the effective priority to 1
   * first.
   */
  | { readonly kind: 'yield' }
  | {
      readonly kind: 'advertisementReceived'
      readonly source: Address
      readonly advertisement: Advertisement
      /** Time from which the next deadline is counted. A packet counts however old it is (ground rule 2). */
      readonly receivedAt: Millis
    }
  /** Another host sent a gratuitous ARP or Neighbor Advertisement for one of our addresses. */
  | { readonly kind: 'announcementHeard'; readonly address: Address; readonly heardAt: Millis }
  /** Another host answered our question for one of our addresses. We have the address, or want it back. */
  | {
      readonly kind: 'addressAnswered'
      readonly address: Address
      readonly heardAt: Millis
      /** True if the answer has the virtual MAC of this VRID (RFC 9568 §7.3). */
      readonly virtualMac?: boolean
    }
  /** Packets to this unicast peer that had waited in the kernel have now been sent. */
  | { readonly kind: 'peerReached'; readonly peer: Address }
  | {
      readonly kind: 'deadlineReached'
      /**
       * True if the kernel's receive queue dropped packets, or this process slept longer than Active_Down_Interval. For
       * a router in Returning only the queue counts. It knows that it slept, and it drains the queue itself.
       */
      readonly receptionLost: boolean
    }
  /** Posted before the packets that waited in the meantime are read. Posted once for a sync group (ground rule 3). */
  | {
      readonly kind: 'absenceNoticed'
      readonly cause: Absence
      /**
       * True if the kernel reported the link of every member as up during the whole absence. Otherwise silence proves
       * nothing.
       */
      readonly linkWasUp: boolean
    }
  /**
   * The answer to `askChecks`. Checks that failed have changed the priority before this event. `assured` is our
   * priority if each check without an answer had failed.
   */
  | { readonly kind: 'checksAnswered'; readonly assured: number }
  /** The effective priority changed; `parameters.priority` is the new one. */
  | { readonly kind: 'priorityChanged'; readonly previous: number }
  /** A reload changed the parameters of the same virtual router (VRID, interface, version, family). */
  | { readonly kind: 'parametersChanged'; readonly previous: Parameters }
  | { readonly kind: 'faultRaised'; readonly fault: Fault; readonly canSend: boolean }
  | { readonly kind: 'faultCleared'; readonly fault: Fault }

export const EVENT_KINDS = Object.keys({
  startup: true,
  shutdown: true,
  yield: true,
  advertisementReceived: true,
  announcementHeard: true,
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
