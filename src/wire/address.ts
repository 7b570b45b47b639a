/**
 * IP addresses as values. An address is its canonical text (RFC 5952 for IPv6), which can be printed, compared with ===
 * and used as a key. This file also converts it to octets in network order, for packets and for the tie-break of RFC
 * 9568 §6.4.3. This file does not know interfaces, zones or prefixes, which belong to linux/ and config/.
 */
import ipaddr from 'ipaddr.js'

export type Family = 'ipv4' | 'ipv6'
/** Canonical text of an IPv4 or IPv6 address, without zone or prefix length. */
export type Address = string & { readonly kind: 'ip' }

/**
 * Parses text that a person wrote. Returns `undefined` for anything that is not a plain address (zones, prefixes,
 * 010.0.0.1).
 */
export function parseAddress(text: string): Address | undefined {
  if (text.includes(':')) return parseIpv6(text)
  const octets = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)?.slice(1)
  // 010 was octal in old programs, so it is never canonical.
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

/** Returns the address of a literal in code or tests. Throws RangeError, because a wrong literal is a bug of ours. */
export function address(text: string): Address {
  const parsed = parseAddress(text)
  if (parsed === undefined) throw new RangeError(`Cannot use "${text}" as an IP address`)
  return parsed
}

/**
 * Reads an address from 4 or 16 octets in network order. Throws RangeError for any other length, which is a bug of
 * ours.
 */
export function addressFromBytes(bytes: Uint8Array): Address {
  if (bytes.length === 4) return `${bytes[0]}.${bytes[1]}.${bytes[2]}.${bytes[3]}` as Address
  if (bytes.length === 16) return new ipaddr.IPv6([...bytes]).toRFC5952String() as Address
  throw new RangeError(`Cannot read an address from ${bytes.length} octets: 4 or 16 are required`)
}

const DOT = '.'.charCodeAt(0)
const ZERO = '0'.charCodeAt(0)

/** Returns the 4 or 16 octets of an address in network order. */
export function addressBytes(value: Address): Uint8Array {
  // The text is canonical and needs no parser. The conversion runs for both addresses of every received packet.
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

/**
 * Compares addresses as unsigned integers in network byte order (RFC 9568 §6.4.3). The result is negative if a < b.
 * IPv4 sorts before IPv6.
 */
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

/** Tells whether the address is in fe80::/10. EID 8300 requires that of the first address of an IPv6 advertisement. */
export const isLinkLocal = (value: Address): boolean => /^fe[89ab]/.test(value) && familyOf(value) === 'ipv6'
export function isMulticast(value: Address): boolean {
  if (familyOf(value) === 'ipv6') return /^ff[0-9a-f]{2}:/.test(value)
  const first = firstOctet(value)
  return first >= 224 && first <= 239
}

/** Returns the first octet of an IPv4 address. */
export const firstOctet = (value: Address): number => Number.parseInt(value, 10)
