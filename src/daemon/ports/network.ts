/** The port of links and addresses in this network namespace (rtnetlink). */
import type { Address, Family } from '../../wire/address.ts'
import type { Mac } from '../../wire/mac.ts'
import type { Failure } from './sockets.ts'

export type Link = {
  readonly index: number
  readonly name: string
  readonly mac: Mac
  readonly mtu: number
  /** True if the operator has turned the interface on (IFF_UP). */
  readonly up: boolean
  /** True if the interface has carrier (IFF_RUNNING). */
  readonly running: boolean
  /**
   * Kind of the device that this interface is a port of: `bridge`, `openvswitch`, `bond`, `team`. A device of these
   * kinds takes every packet that its port receives.
   */
  readonly portOf?: string | undefined
}

export type PresentAddress = {
  readonly interfaceIndex: number
  readonly address: Address
  readonly prefixLength: number
  /**
   * IPv6: true while duplicate address detection runs, or after it found a duplicate. From such an address no packet
   * can be sent.
   */
  readonly tentative: boolean
  /**
   * IPv6: true if the kernel never chooses the address as a source (preferred lifetime 0), as for a VIP. `undefined` if
   * unknown.
   */
  readonly deprecated?: boolean
  /** True if the address has no lifetime in the kernel. `undefined` if unknown. */
  readonly permanent?: boolean
  /** Flags of the address in the kernel (IFA_F_…), shown to people; absent if unknown. */
  readonly flags?: number
  /** IPv4: label of the address, by default the name of the interface; absent if unknown. */
  readonly label?: string
}

/** Route of the main table to one next hop. A route with several next hops has one entry for each. */
export type PresentRoute = {
  readonly interfaceIndex: number
  readonly family: Family
  /** Destination of the route; `undefined` for the default route. */
  readonly destination: { readonly address: Address; readonly prefixLength: number } | undefined
  readonly gateway: Address | undefined
  /** Metric of the route (RTA_PRIORITY); 0 if the kernel does not report a metric. Lower is better. */
  readonly metric: number
  /** True if the route comes from a router advertisement (RTPROT_RA). */
  readonly fromRouter: boolean
}

export type WantedAddress = {
  readonly interfaceIndex: number
  readonly address: Address
  readonly prefixLength: number
  /** IPv4: label of the address in the kernel. Two addresses may have the same label. */
  readonly label?: string
}

export type AddressStep =
  /**
   * `lifetime` is the time in seconds after which the kernel removes the address, unless the guardian renews it.
   * `undefined`: the kernel never removes the address.
   */
  | ({ readonly action: 'add'; readonly lifetime?: number | undefined } & WantedAddress)
  | ({ readonly action: 'remove' } & WantedAddress)
/**
 * Outcome of adding or removing an address. EEXIST on add and EADDRNOTAVAIL on remove count as success (ground rule 6:
 * addresses within 10 ms, or priority 0). `changed` is false then, and the kernel sends no notification.
 */
export type AddressOutcome = { readonly step: AddressStep } & (
  | { readonly ok: true; readonly changed: boolean }
  | { readonly ok: false; readonly failure: Failure }
)

export type NetworkEvent =
  | { readonly kind: 'link'; readonly link: Link }
  | { readonly kind: 'linkGone'; readonly index: number; readonly name: string }
  | { readonly kind: 'addressAdded'; readonly present: PresentAddress }
  | { readonly kind: 'addressRemoved'; readonly present: PresentAddress }
  /** Notifications were lost (ENOBUFS). The daemon reads links() and addresses() again. */
  | { readonly kind: 'resync' }

/** Returns the last reported name of an interface without asking the kernel; `undefined` if unknown. */
export type NameOf = (interfaceIndex: number) => string | undefined

/**
 * Access to the kernel's interfaces and addresses. All calls are synchronous: a netlink request and its
 * acknowledgement.
 */
export type NetworkPort = {
  /**
   * Returns all links; `undefined` if the kernel gave no complete list. Without a complete list, the former list stays
   * in use, and a resync follows.
   */
  links(): readonly Link[] | undefined
  addresses(): readonly PresentAddress[] | undefined
  /** Adds and removes addresses. `nameOf` is used in the message of a failed change. */
  apply(steps: readonly AddressStep[], nameOf: NameOf): readonly AddressOutcome[]
  /** Waits until the kernel has finished its work on the addresses of the interface. Changes nothing. */
  settle(interfaceIndex: number): void
  /** Starts to deliver events; events that are already queued come first. */
  watch(deliver: (event: NetworkEvent) => void): void
  /** Delivers the kernel's queued notifications now, before a decision that depends on them. */
  drain(): void
  close(): void
}
