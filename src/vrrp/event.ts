/**
 * The facts that a virtual router receives. `startup`, `shutdown`, `advertisementReceived` and `deadlineReached` are
 * the events of RFC 9568 §6.4 (fsm.ts). All other events belong to extensions/. `receive.ts` has accepted each
 * advertisement before. `event.ts` does not know where a fact comes from: a socket, a test and a simulator post the
 * same values.
 */
import type { Address } from '../wire/address.ts'
import type { Millis } from '../wire/units.ts'
import type { Advertisement } from './advertisement.ts'
import type { Parameters } from './parameters.ts'

/**
 * Fault of a member of a sync group because another member cannot be Active (VR-SG-01, VR-SG-02). The text has the name
 * of that other member.
 */
export type GroupFault = `syncGroup:${string}`

/** Reason why a router cannot take part in the election. The transition that a fault causes has the same reason. */
export type Fault =
  /** The configuration turns the virtual router off. */
  | 'configured'
  | 'interfaceMissing'
  | 'linkDown'
  /**
   * The interface is a port of a bridge, bond, team or switch. Packets go to the bridge, so a silent port does not
   * prove that no Active exists.
   */
  | 'interfaceIsPort'
  | 'sourceAddressMissing'
  | 'socketFailed'
  /** Another router of this node uses the same VRID on the same interface and address family. */
  | 'vridTaken'
  /** The VRRP message is larger than the MTU of the interface (VR-PKT-10). */
  | 'messageTooLarge'
  /** Another program removes our virtual addresses repeatedly. */
  | 'restorationsPaused'
  | 'addressInstallFailed'
  /** Another router has our virtual addresses and would win the election, but its advertisements do not reach us. */
  | 'duplicateHolder'
  /** An interface on which one of the router's addresses belongs is down. The interface is not the router's own. */
  | `addressInterfaceDown:${string}`
  | `trackedInterfaceDown:${string}`
  | `healthcheckDown:${string}`
  /** A health check has no result yet, and the router did not run before (VR-TRK-05). */
  | `healthcheckUndecided:${string}`
  | GroupFault

/** How a node notices its own absence: its guardian executed the cleanup plan, or its clock shows a stall. */
export type Absence = 'willExecuted' | 'stalled'

export type Event =
  | { readonly kind: 'startup' }
  | { readonly kind: 'shutdown' }
  /**
   * Hands the addresses to another router although no fault exists. The caller lowers the effective priority to 1
   * first.
   */
  | { readonly kind: 'yield' }
  | {
      readonly kind: 'advertisementReceived'
      readonly source: Address
      readonly advertisement: Advertisement
      /**
       * Time of reception of the packet, from which the next deadline is counted. Every packet counts, even an old one
       * (ground rule 2: a waiting packet counts).
       */
      readonly receivedAt: Millis
    }
  /** Another host sent a gratuitous ARP or Neighbor Advertisement for one of our addresses. */
  | { readonly kind: 'announcementHeard'; readonly address: Address; readonly heardAt: Millis }
  /**
   * Another host answered our ARP or Neighbor Solicitation for one of our addresses. This router has the address, or
   * wants it back.
   */
  | {
      readonly kind: 'addressAnswered'
      readonly address: Address
      readonly heardAt: Millis
      /** True if the host answered with the virtual MAC of this VRID (RFC 9568 §7.3). */
      readonly virtualMac?: boolean
    }
  /** Packets to this unicast peer that had waited in the kernel are now sent. */
  | { readonly kind: 'peerReached'; readonly peer: Address }
  | {
      readonly kind: 'deadlineReached'
      /**
       * True if the kernel's receive queue dropped packets, or this process slept longer than Active_Down_Interval. For
       * a router in Returning only dropped packets count: such a router knows that it slept, and drains the queue
       * itself.
       */
      readonly receptionLost: boolean
    }
  /**
   * Reports an absence of this node, once for a sync group (ground rule 3: a node that was away listens first). The
   * daemon posts it before it reads the packets that waited in the meantime.
   */
  | {
      readonly kind: 'absenceNoticed'
      readonly cause: Absence
      /**
       * True if the kernel reported the link of every member as up during the whole absence. If a link was down, a
       * missing advertisement proves nothing.
       */
      readonly linkWasUp: boolean
    }
  /**
   * The results of the health checks that `askChecks` ran. A failed check has changed the priority before this event.
   * `assured` is our priority if each check without a result had failed.
   */
  | { readonly kind: 'checksAnswered'; readonly assured: number }
  /** The effective priority changed; `parameters.priority` is the new one. */
  | { readonly kind: 'priorityChanged'; readonly previous: number }
  /**
   * A reload changed the parameters of a running virtual router. VRID, interface, version and address family are the
   * same.
   */
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
