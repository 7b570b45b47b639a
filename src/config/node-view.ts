/**
 * What the configuration needs to know of the node it runs on: interfaces and their addresses, as values, and which of
 * them are the node's own. This file does not know how the node was looked at, nor what an interface is chosen for.
 */
import { type Address, addressBytes, type Family, familyOf, isLinkLocal } from '../wire/address.ts'
import type { NamedAddress } from './named-address.ts'
import { hostPrefixLength, OTHERS_INSTALL, sameNetwork } from './network.ts'
import type { NetworkAddress } from './schema/field.ts'

export type NodeAddress = {
  readonly address: Address
  readonly prefixLength: number
  /** IPv6: duplicate address detection has not ended; the kernel does not send from it yet. */
  readonly tentative?: boolean | undefined
  /** IPv6: preferred lifetime 0, as every VIP has it. Undefined: not known. */
  readonly deprecated?: boolean | undefined
}
export type NodeInterface = {
  readonly name: string
  /** Undefined: not known, and then nothing is said about it. */
  readonly mtu?: number | undefined
  /** Set: it is a port of a bridge or the like, and cannot hear anybody. */
  readonly portOf?: string | undefined
  readonly addresses: readonly NodeAddress[]
}
export type NodeView = {
  readonly interfaces: readonly NodeInterface[]
  /** By the path of the file; those of the configuration, as far as they have been read. */
  readonly files?: ReadonlyMap<string, NamedAddress> | undefined
}

/** With its octets, read once: `auto` compares every address of the node with every VIP. */
export type Standing = NodeAddress & { readonly octets: Uint8Array }

/** One interface as one family sees it. */
export type OwnInterface = {
  readonly name: string
  readonly mtu: number | undefined
  readonly portOf: string | undefined
  readonly all: readonly Standing[]
  /** Without the VIPs: never a source and never a reason to choose an interface, they move away. */
  readonly own: readonly Standing[]
  /**
   * VIPs of the file in a form in which the file installs none: the node's own addresses, listed by mistake. Each is an error
   * where `own` is empty (own-address.ts), so a file with one is never in force.
   */
  readonly listedOwn: readonly Standing[]
}

/** The node as one family sees it, indexed once for all routers: the daemon asks again with every change of the node. */
export type OwnView = {
  readonly interfaces: readonly OwnInterface[]
  /** The node's own addresses, on any interface. */
  readonly own: ReadonlySet<Address>
  /** Every place where an address is, VIPs included. */
  readonly places: ReadonlyMap<Address, readonly Place[]>
}
export type OwnViews = { readonly [family in Family]: OwnView }
export type Place = { readonly on: OwnInterface; readonly present: Standing }

/** `virtual`: the VIPs, and with which prefix length the file installs each. */
export function ownView(node: NodeView, family: Family, virtual: ReadonlyMap<Address, number>): OwnView {
  const interfaces = node.interfaces.map(({ name, mtu, portOf, addresses }): OwnInterface => {
    const all = addresses
      .filter(({ address }) => familyOf(address) === family)
      .map(
        ({ address, prefixLength, tentative, deprecated }): Standing => ({
          address,
          prefixLength,
          tentative,
          deprecated,
          octets: addressBytes(address),
        }),
      )
    const own = all.filter(({ address }) => !virtual.has(address))
    const listedOwn = OTHERS_INSTALL.has(name) ? [] : all.filter((present) => isListedOwn(present, virtual))
    return { name, mtu, portOf, all, own, listedOwn }
  })
  const places = new Map<Address, Place[]>()
  for (const on of interfaces) {
    for (const present of on.all) {
      const known = places.get(present.address)
      if (known === undefined) places.set(present.address, [{ on, present }])
      else known.push({ on, present })
    }
  }
  return { interfaces, own: new Set(interfaces.flatMap(({ own }) => own.map(({ address }) => address))), places }
}

function isListedOwn(
  { address, deprecated, prefixLength }: NodeAddress,
  virtual: ReadonlyMap<Address, number>,
): boolean {
  const installed = virtual.get(address)
  if (installed === undefined || deprecated === true || isLinkLocal(address)) return false
  return prefixLength !== installed && prefixLength !== hostPrefixLength(familyOf(address))
}

/** A prefix written with the VIP selects the network, unless it is that of a host; otherwise the node's prefixes do. */
export function networkPrefix({ address, prefixLength }: NetworkAddress): number | undefined {
  return prefixLength === hostPrefixLength(familyOf(address)) ? undefined : prefixLength
}

/** Is an own address in the network of the VIP? */
export function servesNetworkOf(vip: NetworkAddress): (own: Standing) => boolean {
  const [octets, prefix] = [addressBytes(vip.address), networkPrefix(vip)]
  return (own) => sameNetwork(own.octets, octets, prefix ?? own.prefixLength)
}

/** DHCPv6 gives /128 and leaves the network to the routers of the LAN: a /64 by far the most often. */
export function mayServeNetworkOf(vip: NetworkAddress): (own: Standing) => boolean {
  const octets = addressBytes(vip.address)
  if (octets.length !== 16 || networkPrefix(vip) !== undefined) return () => false
  return (own) => own.prefixLength === 128 && own.deprecated !== true && sameNetwork(own.octets, octets, 64)
}
