/**
 * Compares addresses by their prefix length. The functions work on octets, so both families use the same arithmetic.
 * This file knows nothing about which nodes have an address, and which networks exist.
 */
import { type Address, type Family, familyOf, isLinkLocal } from '../wire/address.ts'

/**
 * Interfaces on which other programs install a VIP on purpose: `lo` for real servers of LVS (direct routing),
 * `kube-ipvs0` for kube-proxy in IPVS mode. A VIP on such an interface stays, unless a router of this daemon is
 * configured on that interface.
 */
export const OTHERS_INSTALL: ReadonlySet<string> = new Set(['lo', 'kube-ipvs0'])

/** Returns the prefix length of a single host: the longest of the family. */
export const hostPrefixLength = (family: Family): number => (family === 'ipv4' ? 32 : 128)

/** Returns the name of an address family for messages. */
export const familyName = (family: Family): string => (family === 'ipv4' ? 'IPv4' : 'IPv6')

export type Scope = 'link-local' | 'global'
/**
 * Returns the scope of an address. IPv4 has one scope only: 169.254.0.0/16 is reached like any other network of the
 * LAN.
 */
export const scopeOf = (address: Address): Scope => (isLinkLocal(address) ? 'link-local' : 'global')

/** Tells whether two addresses of one family are in the same network. The octets are those of addressBytes(). */
export function sameNetwork(a: Uint8Array, b: Uint8Array, prefixLength: number): boolean {
  if (a.length !== b.length) return false
  const whole = prefixLength >> 3
  for (let i = 0; i < whole; i++) if (a[i] !== b[i]) return false
  const rest = prefixLength & 7
  return rest === 0 || ((a[whole] ?? 0) ^ (b[whole] ?? 0)) >> (8 - rest) === 0
}

/**
 * Tells whether the bits after the prefix are all 0 (the network itself), all 1 (in IPv4 the broadcast address), or
 * mixed.
 */
export function hostPart(octets: Uint8Array, prefixLength: number): 'zeros' | 'ones' | 'mixed' {
  let [zeros, ones] = [true, true]
  for (const [i, octet] of octets.entries()) {
    const mask = 0xff >> Math.min(8, Math.max(0, prefixLength - 8 * i))
    if ((octet & mask) !== 0) zeros = false
    if ((octet & mask) !== mask) ones = false
  }
  return zeros ? 'zeros' : ones ? 'ones' : 'mixed'
}

/**
 * Returns the family of a router: the family of its first VIP. VIPs of another family are a problem (contradiction.ts).
 */
export function familyOfAll(addresses: readonly { readonly address: Address }[]): Family {
  const [first] = addresses
  return first === undefined ? 'ipv4' : familyOf(first.address)
}
