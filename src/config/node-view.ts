/**
 * Facts about the node that the configuration needs: interfaces and their addresses, as values, and which addresses are
 * the node's own. This file knows nothing about how these facts were read, and why an interface is chosen.
 */
import { type Address, addressBytes, type Family, familyOf, isLinkLocal } from '../wire/address.ts'
import type { NamedAddress } from './named-address.ts'
import { hostPrefixLength, OTHERS_INSTALL, sameNetwork } from './network.ts'
import type { NetworkAddress } from './schema/field.ts'

export type NodeAddress = {
  readonly address: Address
  readonly prefixLength: number
  /** IPv6: duplicate address detection is not finished, so the kernel does not send from this address yet. */
  readonly tentative?: boolean | undefined
  /**
   * True if the preferred lifetime of an IPv6 address is 0, as for every VIP. `undefined` if the lifetime is not known.
   */
  readonly deprecated?: boolean | undefined
}
export type NodeInterface = {
  readonly name: string
  /** MTU of the interface in octets; `undefined` if not known. */
  readonly mtu?: number | undefined
  /**
   * Kind of port that the interface is, such as a port of a bridge; a port receives no packets of its own. `undefined`
   * if the interface is no port.
   */
  readonly portOf?: string | undefined
  readonly addresses: readonly NodeAddress[]
}
export type NodeView = {
  readonly interfaces: readonly NodeInterface[]
  /** Contents of the address files of the configuration that have been read, by path. */
  readonly files?: ReadonlyMap<string, NamedAddress> | undefined
}

/**
 * An address of the node with its octets. The octets are computed once, because `interface: auto` compares every
 * address of the node with every VIP.
 */
export type PresentAddress = NodeAddress & { readonly octets: Uint8Array }

/** One interface of the node with its addresses of one family. */
export type OwnInterface = {
  readonly name: string
  readonly mtu: number | undefined
  readonly portOf: string | undefined
  readonly all: readonly PresentAddress[]
  /**
   * Addresses of the interface that are no VIPs. A VIP is never a source address and never a reason to choose an
   * interface, because a VIP moves between nodes.
   */
  readonly own: readonly PresentAddress[]
  /**
   * The node's own addresses that the configuration lists by mistake: VIPs that are on the interface with another
   * prefix length than the configuration would install. If `own` is empty, each of them is an error (own-address.ts),
   * so a configuration with this mistake never takes effect.
   */
  readonly listedOwn: readonly PresentAddress[]
}

/**
 * The node's addresses of one family. The addresses are sorted once for all routers, because the daemon needs them at
 * every change of the node.
 */
export type OwnView = {
  readonly interfaces: readonly OwnInterface[]
  /** The node's own addresses, on any interface. */
  readonly own: ReadonlySet<Address>
  /** For each address of the node including VIPs, all interfaces that have it. */
  readonly places: ReadonlyMap<Address, readonly Occurrence[]>
}
export type OwnViews = { readonly [family in Family]: OwnView }
export type Occurrence = { readonly on: OwnInterface; readonly present: PresentAddress }

/** Returns the node's addresses of one family. `virtual` has the VIPs, with the prefix length of each. */
export function ownView(node: NodeView, family: Family, virtual: ReadonlyMap<Address, number>): OwnView {
  const interfaces = node.interfaces.map(({ name, mtu, portOf, addresses }): OwnInterface => {
    const all = addresses
      .filter(({ address }) => familyOf(address) === family)
      .map(
        ({ address, prefixLength, tentative, deprecated }): PresentAddress => ({
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
  const places = new Map<Address, Occurrence[]>()
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

/**
 * Returns the prefix length that tells the network of a VIP; `undefined` if the VIP has no prefix length or that of a
 * single host. Without such a prefix length, the prefix lengths of the node's own addresses decide.
 */
export function networkPrefix({ address, prefixLength }: NetworkAddress): number | undefined {
  return prefixLength === hostPrefixLength(familyOf(address)) ? undefined : prefixLength
}

/** Returns a function that tests whether an own address of the node is in the network of the VIP. */
export function servesNetworkOf(vip: NetworkAddress): (own: PresentAddress) => boolean {
  const [octets, prefix] = [addressBytes(vip.address), networkPrefix(vip)]
  return (own) => sameNetwork(own.octets, octets, prefix ?? own.prefixLength)
}

/**
 * Returns a function that tests whether a /128 address may be in the network of the VIP. DHCPv6 gives /128 addresses,
 * and the network of such a node is a /64 in most cases.
 */
export function mayServeNetworkOf(vip: NetworkAddress): (own: PresentAddress) => boolean {
  const octets = addressBytes(vip.address)
  if (octets.length !== 16 || networkPrefix(vip) !== undefined) return () => false
  return (own) => own.prefixLength === 128 && own.deprecated !== true && sameNetwork(own.octets, octets, 64)
}
