/** Links and addresses of this network namespace (rtnetlink). */
import type { Address, Family } from '../../wire/address.ts'
import type { Mac } from '../../wire/mac.ts'
import type { Failure } from './sockets.ts'

export type Link = {
  readonly index: number
  readonly name: string
  readonly mac: Mac
  readonly mtu: number
  /** Administratively up (IFF_UP). */
  readonly up: boolean
  /** Carrier (IFF_RUNNING). */
  readonly running: boolean
  /** Kind of the device of which it is a port, which takes every packet that it receives: `bridge`, `openvswitch`, `bond`, `team`. */
  readonly portOf?: string | undefined
}

export type PresentAddress = {
  readonly interfaceIndex: number
  readonly address: Address
  readonly prefixLength: number
  /** IPv6: duplicate address detection still runs, or has failed; nothing can be sent from it. */
  readonly tentative: boolean
  /** IPv6: never chosen as a source, as every VIP of ours. `undefined`: not known. */
  readonly deprecated?: boolean
  /** It has no lifetime in the kernel. `undefined`: not known. */
  readonly permanent?: boolean
  /** IFA_F_…, as the kernel has them; for people. */
  readonly flags?: number
  /** IPv4: the interface's name unless another one was chosen. `undefined`: not known. */
  readonly label?: string
}

/** A route of the main table to one next hop; of several for one destination, each is one. */
export type PresentRoute = {
  readonly interfaceIndex: number
  readonly family: Family
  /** `undefined`: the default route. */
  readonly destination: { readonly address: Address; readonly prefixLength: number } | undefined
  readonly gateway: Address | undefined
  /** RTA_PRIORITY; 0 if the kernel does not report it. Lower is better. */
  readonly metric: number
  /** Learnt from a router advertisement (RTPROT_RA). */
  readonly fromRouter: boolean
}

export type WantedAddress = {
  readonly interfaceIndex: number
  readonly address: Address
  readonly prefixLength: number
  /** IPv4: name of the address in the kernel; it is no part of its identity. */
  readonly label?: string
}

export type AddressStep =
  /** `lifetime`: valid seconds after which the kernel drops it, unless the guardian renews it; `undefined` = never. */
  | ({ readonly action: 'add'; readonly lifetime?: number | undefined } & WantedAddress)
  | ({ readonly action: 'remove' } & WantedAddress)
/**
 * EEXIST on add and EADDRNOTAVAIL on remove are success (ground rule 6); then nothing `changed`, and the kernel sends no
 * notification.
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
  /** Notifications were lost (ENOBUFS): look at links() and addresses() again. */
  | { readonly kind: 'resync' }

/** Returns the name of an interface as last reported, without a question to the kernel; `undefined` if it is unknown. */
export type NameOf = (interfaceIndex: number) => string | undefined

/** Calls are synchronous: a request and its ACK. */
export type NetworkPort = {
  /** Returns `undefined` if the kernel gave no complete list: what was known before is nearer to the truth. A resync follows. */
  links(): readonly Link[] | undefined
  addresses(): readonly PresentAddress[] | undefined
  /** `nameOf` names the interface of a step that failed. */
  apply(steps: readonly AddressStep[], nameOf: NameOf): readonly AddressOutcome[]
  /** Returns when the kernel has finished its work on the addresses of the interface; changes nothing. */
  settle(interfaceIndex: number): void
  /** Starts the watch; events already queued are delivered first. */
  watch(deliver: (event: NetworkEvent) => void): void
  /** Delivers queued notifications now, before a decision that depends on them. */
  drain(): void
  close(): void
}
