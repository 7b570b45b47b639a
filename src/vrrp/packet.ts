/**
 * The VRRP message, version 3 (RFC 9568 §5) and version 2 (RFC 3768 §5, IPv4 only): octets to fields and back. Reading
 * has two steps: `readMessage` returns the fields of the octets and only refuses what cannot be read at all; whether the
 * values are acceptable is decided in receive.ts, in its own order. This file refuses to know who sent the message and
 * which router it is for. The versions share the first four octets and the addresses; they differ in what the fifth and
 * sixth octet say, in eight octets of authentication at the end, and in what the checksum covers.
 */
import { type Address, address, addressBytes, addressFromBytes, type Family, familyOf } from '../wire/address.ts'
import { viewOf } from '../wire/bytes.ts'
import { checksumHolds, checksumOf, pseudoHeaderSum, wordSum } from '../wire/checksum.ts'
import { type Centis, centis } from '../wire/units.ts'
import type { Advertisement } from './advertisement.ts'
import { AUTHENTICATION_LENGTH, type Authentication, authenticationData } from './authentication.ts'
import { advertisedBy, type ChecksumForm, type Parameters } from './parameters.ts'

/** Protocol number in the IP header (RFC 9568 §5.1.1.4). */
export const VRRP_PROTOCOL = 112
/** TTL and hop limit that are sent and asked for (RFC 9568 §5.1.1.3, §5.1.2.3). */
export const VRRP_TTL = 255
/** TOS / Traffic Class that is sent: CS6, as every neighbour does it; never checked (VR-TX-07). */
export const VRRP_TRAFFIC_CLASS = 0xc0

const GROUPS: Record<Family, Address> = { ipv4: address('224.0.0.18'), ipv6: address('ff02::12') }
/** The group assigned by IANA (RFC 9568 §5.1.1.2, §5.1.2.2). */
export const vrrpGroup = (family: Family): Address => GROUPS[family]

export type ChecksumAddresses = { readonly source: Address; readonly destination: Address }

/** The fields as they stand in the message; nothing is judged yet. */
export type Message = {
  readonly version: 2 | 3
  readonly vrid: number
  readonly priority: number
  /** IPvX Addr Count, 0–255. */
  readonly count: number
  /** Version 3: 0–4095, the reserved bits before it are ignored (RFC 9568 §5.2.6). Version 2: 0–255 s as cs. */
  readonly interval: Centis
  readonly checksum: number
  readonly addressBytes: Uint8Array
  /** Version 2 only, and there always (VR-V2-01). */
  readonly authentication: { readonly type: number; readonly data: Uint8Array } | undefined
}

export type MessageFault = 'truncated' | 'version' | 'type' | 'length'

/** Auth Type (RFC 2338 §5.3.6); 2 was the IP Authentication Header, which no implementation sends. */
export const AUTH_NONE = 0
export const AUTH_SIMPLE = 1

const HEADER = 8
const ADVERTISEMENT = 1
const CHECKSUM_OFFSET = 6
/** Adver Int of version 2 counts seconds (RFC 3768 §5.3.7). */
const CENTIS_PER_SECOND = 100
const addressLength = (family: Family): 4 | 16 => (family === 'ipv4' ? 4 : 16)

function lengthOf(version: 2 | 3, family: Family, count: number): number {
  return HEADER + count * addressLength(family) + (version === 2 ? AUTHENTICATION_LENGTH : 0)
}

/** Octets of the VRRP message of a router; the datagram has 20 (IPv4) or 40 (IPv6) more (VR-PKT-10). */
export function messageLength(of: Pick<Parameters, 'addresses' | 'advertised' | 'family' | 'version'>): number {
  return lengthOf(of.version, of.family, advertisedBy(of).length)
}

/** Returns the version in the message, whether or not it can be read. */
export const versionOf = (bytes: Uint8Array): number | undefined => (bytes[0] === undefined ? undefined : bytes[0] >> 4)

/**
 * `version` is the one that the receiver runs: another one is a fault, also where this file could read it.
 * In the order of VR-RX-10, and so that a short message still names its wrong version or type. Never throws.
 */
export function readMessage(bytes: Uint8Array, family: Family, version: 2 | 3): Message | MessageFault {
  const first = bytes[0]
  if (first === undefined) return 'truncated'
  // Version 2 over IPv6 does not exist (VR-V2-11).
  if (first >> 4 !== version || (version === 2 && family === 'ipv6')) return 'version'
  if ((first & 0x0f) !== ADVERTISEMENT) return 'type'
  if (bytes.length < HEADER) return 'truncated'
  const view = viewOf(bytes)
  const count = view.getUint8(3)
  // Exactly: octets after the last address are as wrong as missing ones (VR-RX-07).
  if (bytes.length !== lengthOf(version, family, count)) return 'length'
  const end = HEADER + count * addressLength(family)
  return {
    version,
    vrid: view.getUint8(1),
    priority: view.getUint8(2),
    count,
    interval: centis(version === 3 ? view.getUint16(4) & 0x0fff : view.getUint8(5) * CENTIS_PER_SECOND),
    checksum: view.getUint16(CHECKSUM_OFFSET),
    addressBytes: bytes.subarray(HEADER, end),
    authentication: version === 2 ? { type: view.getUint8(4), data: bytes.subarray(end) } : undefined,
  }
}

/** In the order of the message, which matters for the first one of IPv6 only (RFC 9568 §5.2.9). */
export function addressesOf(message: Message, family: Family): readonly Address[] {
  const size = addressLength(family)
  return Array.from({ length: message.count }, (_, i) =>
    addressFromBytes(message.addressBytes.subarray(i * size, (i + 1) * size)),
  )
}

/**
 * The forms that verify. Both can: then nothing may be inferred about the sender (VR-CK-07). IPv6 has one form only
 * (RFC 9568 §5.2.8), so a sum over the bare message is no checksum there; version 2 has the other one only (VR-V2-02).
 */
export function checksumForms(
  bytes: Uint8Array,
  { source, destination }: ChecksumAddresses,
  version: 2 | 3,
): readonly ChecksumForm[] {
  const sum = wordSum(bytes)
  const forms: ChecksumForm[] = []
  if (familyOf(destination) === 'ipv4' && checksumHolds(sum)) forms.push('message-only')
  if (version === 3 && checksumHolds(sum + pseudoHeaderSum(source, destination, VRRP_PROTOCOL, bytes.length))) {
    forms.push('pseudo-header')
  }
  return forms
}

export type Envelope = ChecksumAddresses & {
  /** Has no effect on IPv6 and on version 2, which have one form each. */
  readonly checksum: ChecksumForm
  /** Version 2 only. */
  readonly authentication?: Authentication | undefined
}

/**
 * The message for one destination: with the pseudo-header every unicast copy has a checksum of its own (VR-UC-06).
 * Throws RangeError for values that cannot be put on the wire: configuration should not have let them through.
 */
export function encodeAdvertisement(advertisement: Advertisement, envelope: Envelope): Uint8Array {
  const { authentication, checksum, destination, source } = envelope
  const family = familyOf(source)
  refuseUnsendable(advertisement, family, envelope)
  const { addresses, interval, priority, version, vrid } = advertisement
  const size = addressLength(family)
  const bytes = new Uint8Array(lengthOf(version, family, addresses.length))
  const view = viewOf(bytes)
  view.setUint8(0, (version << 4) | ADVERTISEMENT)
  view.setUint8(1, vrid)
  view.setUint8(2, priority)
  view.setUint8(3, addresses.length)
  if (version === 3) view.setUint16(4, interval)
  else {
    view.setUint8(4, authentication === undefined ? AUTH_NONE : AUTH_SIMPLE)
    view.setUint8(5, interval / CENTIS_PER_SECOND)
    bytes.set(authenticationData(authentication), HEADER + addresses.length * size)
  }
  addresses.forEach((value, i) => {
    bytes.set(addressBytes(value), HEADER + i * size)
  })
  const covered =
    version === 3 && (family === 'ipv6' || checksum === 'pseudo-header')
      ? pseudoHeaderSum(source, destination, VRRP_PROTOCOL, bytes.length)
      : 0
  view.setUint16(CHECKSUM_OFFSET, checksumOf(wordSum(bytes) + covered))
  return bytes
}

function refuseUnsendable(advertisement: Advertisement, family: Family, envelope: Envelope): void {
  const { addresses, interval, priority, version, vrid } = advertisement
  const { authentication } = envelope
  const destinationFamily = familyOf(envelope.destination)
  const within = (value: number, least: number, most: number) =>
    Number.isInteger(value) && value >= least && value <= most
  const wrong =
    (version === 2 && family === 'ipv6' && 'version 2 over IPv6: it does not exist') ||
    (!within(vrid, 1, 255) && `VRID ${vrid}: 1–255 wanted`) ||
    (!within(priority, 0, 255) && `priority ${priority}: 0–255 wanted`) ||
    (version === 3 && !within(interval, 1, 4095) && `interval ${interval} cs: 1–4095 wanted`) ||
    // Rounding here would be the flood of an interval that became 0 (VR-V2-13).
    (version === 2 &&
      !within(interval / CENTIS_PER_SECOND, 1, 255) &&
      `interval ${interval} cs: 1–255 whole seconds wanted`) ||
    (!within(addresses.length, 1, 255) && `${addresses.length} addresses: 1–255 wanted`) ||
    (authentication !== undefined && version === 3 && 'authentication: version 3 has none') ||
    (authentication !== undefined &&
      authentication.octets.length !== AUTHENTICATION_LENGTH &&
      `${authentication.octets.length} octets of authentication: ${AUTHENTICATION_LENGTH} wanted`) ||
    (destinationFamily !== family && `an ${destinationFamily} destination from an ${family} source`) ||
    (addresses.some((value) => familyOf(value) !== family) && `addresses of another family than ${family}`)
  if (wrong !== false) throw new RangeError(`Cannot encode an advertisement with ${wrong}`)
}
