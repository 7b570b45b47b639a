/**
 * IP addresses as values: a canonical text (RFC 5952 for IPv6) that can be printed, compared with === and used as a
 * key, and its bytes in network order for packets and for the tie-break of RFC 9568 §6.4.3.
 * This file refuses to know interfaces, zones and prefixes in use: that is linux/ and config/.
 */
import ipaddr from 'ipaddr.js'

export type Family = 'ipv4' | 'ipv6'
/** Canonical text of an IPv4 or IPv6 address, without zone or prefix length. */
export type Address = string & { readonly kind: 'ip' }

/** Source: anything a person typed. Returns undefined for what is no plain address (zones, prefixes, 010.0.0.1). */
export function parseAddress(text: string): Address | undefined {
  if (text.includes(':')) return parseIpv6(text)
  const octets = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)?.slice(1)
  // 010 was octal once, and is nobody's canonical text.
  const isCanonical = octets?.every((octet) => Number(octet) <= 255 && (octet === '0' || !octet.startsWith('0')))
  return isCanonical === true ? (text as Address) : undefined
}

function parseIpv6(text: string): Address | undefined {
  if (text.includes('%')) return undefined
  try {
    return ipaddr.IPv6.parse(text).toRFC5952String() as Address
  } catch {
    return undefined
  }
}

/** For literals in code and tests. Throws RangeError: a wrong literal is our bug. */
export function address(text: string): Address {
  const parsed = parseAddress(text)
  if (parsed === undefined) throw new RangeError(`Cannot use "${text}" as an IP address`)
  return parsed
}

/** 4 or 16 octets in network order; any other length is our bug and throws RangeError. */
export function addressFromBytes(bytes: Uint8Array): Address {
  if (bytes.length === 4) return `${bytes[0]}.${bytes[1]}.${bytes[2]}.${bytes[3]}` as Address
  if (bytes.length === 16) return new ipaddr.IPv6([...bytes]).toRFC5952String() as Address
  throw new RangeError(`Cannot read an address from ${bytes.length} octets: 4 or 16 wanted`)
}

const DOT = '.'.charCodeAt(0)
const ZERO = '0'.charCodeAt(0)

export function addressBytes(value: Address): Uint8Array {
  // Canonical, so no parser is needed; both addresses of every received packet come through here.
  if (familyOf(value) === 'ipv4') return ipv4Octets(value)
  const octets = new Uint8Array(16)
  const [before = '', after] = value.split('::')
  putGroups(octets, 0, before)
  if (after !== undefined && after !== '') putGroups(octets, 16 - 2 * after.split(':').length, after)
  return octets
}

function ipv4Octets(value: string): Uint8Array {
  const octets = new Uint8Array(4)
  let at = 0
  let octet = 0
  for (let i = 0; i < value.length; i++) {
    const code = value.charCodeAt(i)
    octet = code === DOT ? 0 : octet * 10 + code - ZERO
    if (code === DOT) at++
    else octets[at] = octet
  }
  return octets
}

function putGroups(octets: Uint8Array, at: number, groups: string): void {
  if (groups === '') return
  let offset = at
  for (const group of groups.split(':')) {
    const value = Number.parseInt(group, 16)
    octets[offset++] = value >> 8
    octets[offset++] = value & 0xff
  }
}

export const familyOf = (value: Address): Family => (value.includes(':') ? 'ipv6' : 'ipv4')

/** As unsigned integers in network byte order (RFC 9568 §6.4.3); negative when a < b. IPv4 sorts before IPv6. */
export function compareAddresses(a: Address, b: Address): number {
  const left = addressBytes(a)
  const right = addressBytes(b)
  if (left.length !== right.length) return left.length - right.length
  for (let i = 0; i < left.length; i++) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

/** fe80::/10 (EID 8300 asks for it in the first address of an IPv6 advertisement). */
export const isLinkLocal = (value: Address): boolean => /^fe[89ab]/.test(value) && familyOf(value) === 'ipv6'
export function isMulticast(value: Address): boolean {
  if (familyOf(value) === 'ipv6') return /^ff[0-9a-f]{2}:/.test(value)
  const first = firstOctet(value)
  return first >= 224 && first <= 239
}

/** Of an IPv4 address. */
export const firstOctet = (value: Address): number => Number.parseInt(value, 10)
