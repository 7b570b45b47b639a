/**
 * What a prefix length says about two addresses, on octets, so that both families have one arithmetic. This file does
 * not know who has an address, nor which networks exist.
 */
import { type Address, type Family, familyOf, isLinkLocal } from '../wire/address.ts'

/**
 * Interfaces on which other programs install a VIP on purpose: real servers of LVS (direct routing) on `lo`, kube-proxy in
 * IPVS mode on `kube-ipvs0`. A VIP there stays, unless a router of this daemon is configured on that interface.
 */
export const OTHERS_INSTALL: ReadonlySet<string> = new Set(['lo', 'kube-ipvs0'])

/** Of one host: the longest prefix of the family. */
export const hostPrefixLength = (family: Family): number => (family === 'ipv4' ? 32 : 128)

export const familyName = (family: Family): string => (family === 'ipv4' ? 'IPv4' : 'IPv6')

export type Scope = 'link-local' | 'global'
/** IPv4 has one scope here: 169.254.0.0/16 is reached like any other network of the LAN. */
export const scopeOf = (address: Address): Scope => (isLinkLocal(address) ? 'link-local' : 'global')

/** Of one family; octets as addressBytes() gives them. */
export function sameNetwork(a: Uint8Array, b: Uint8Array, prefixLength: number): boolean {
  if (a.length !== b.length) return false
  const whole = prefixLength >> 3
  for (let i = 0; i < whole; i++) if (a[i] !== b[i]) return false
  const rest = prefixLength & 7
  return rest === 0 || ((a[whole] ?? 0) ^ (b[whole] ?? 0)) >> (8 - rest) === 0
}

/** All bits behind the prefix alike: the network itself, or (IPv4) its broadcast address. */
export function hostPart(octets: Uint8Array, prefixLength: number): 'zeros' | 'ones' | 'mixed' {
  let [zeros, ones] = [true, true]
  for (const [i, octet] of octets.entries()) {
    const mask = 0xff >> Math.min(8, Math.max(0, prefixLength - 8 * i))
    if ((octet & mask) !== 0) zeros = false
    if ((octet & mask) !== mask) ones = false
  }
  return zeros ? 'zeros' : ones ? 'ones' : 'mixed'
}

/** The family of a router is that of its first address; others are a problem (contradiction.ts). */
export function familyOfAll(addresses: readonly { readonly address: Address }[]): Family {
  const [first] = addresses
  return first === undefined ? 'ipv4' : familyOf(first.address)
}
