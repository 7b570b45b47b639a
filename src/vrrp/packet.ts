/**
 * Converts VRRP messages between octets and fields: version 3 (RFC 9568 §5) and version 2 (RFC 3768 §5, IPv4 only).
 * `readMessage` returns the fields, and fails only if the octets cannot be read. `receive.ts` decides whether the
 * values are acceptable. `packet.ts` does not know the sender or the receiver of a message. In VRRP versions 2 and 3
 * the first four octets and the addresses are the same. The versions differ in the fifth and sixth octet, in the
 * authentication at the end, and in what the checksum covers.
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
/** TTL (IPv4) or hop limit (IPv6) of sent and of accepted packets (RFC 9568 §5.1.1.3, §5.1.2.3). */
export const VRRP_TTL = 255
/**
 * TOS or Traffic Class of sent packets: CS6, as other implementations use it. Never checked in received packets
 * (VR-TX-07).
 */
export const VRRP_TRAFFIC_CLASS = 0xc0

const GROUPS: Record<Family, Address> = { ipv4: address('224.0.0.18'), ipv6: address('ff02::12') }
/** Returns the multicast group that IANA assigned (RFC 9568 §5.1.1.2, §5.1.2.2). */
export const vrrpGroup = (family: Family): Address => GROUPS[family]

export type ChecksumAddresses = { readonly source: Address; readonly destination: Address }

/** The fields of a VRRP message, not yet checked. */
export type Message = {
  readonly version: 2 | 3
  readonly vrid: number
  readonly priority: number
  /** Number of addresses in the message, 0 to 255 (IPvX Addr Count). */
  readonly count: number
  /**
   * Advertisement interval in centiseconds. Version 3: 0 to 4095, without the reserved bits before it (RFC 9568
   * §5.2.6). Version 2: 0 to 255 seconds, converted.
   */
  readonly interval: Centis
  readonly checksum: number
  readonly addressBytes: Uint8Array
  /** Authentication Data; always present in version 2 (VR-V2-01), `undefined` in version 3. */
  readonly authentication: { readonly type: number; readonly data: Uint8Array } | undefined
}

export type MessageFault = 'truncated' | 'version' | 'type' | 'length'

/** Values of Auth Type (RFC 2338 §5.3.6). The value 2, IP Authentication Header, is sent by no implementation. */
export const AUTH_NONE = 0
export const AUTH_SIMPLE = 1

const HEADER = 8
const ADVERTISEMENT = 1
const CHECKSUM_OFFSET = 6
/** Adver Int, the interval field of version 2, is in seconds (RFC 3768 §5.3.7). */
const CENTIS_PER_SECOND = 100
const addressLength = (family: Family): 4 | 16 => (family === 'ipv4' ? 4 : 16)

function lengthOf(version: 2 | 3, family: Family, count: number): number {
  return HEADER + count * addressLength(family) + (version === 2 ? AUTHENTICATION_LENGTH : 0)
}

/**
 * Returns the length of a router's VRRP message in octets. The IP header adds 20 (IPv4) or 40 (IPv6) octets
 * (VR-PKT-10).
 */
export function messageLength(of: Pick<Parameters, 'addresses' | 'advertised' | 'family' | 'version'>): number {
  return lengthOf(of.version, of.family, advertisedBy(of).length)
}

/** Returns the version field of a message, even if the rest cannot be read; `undefined` for an empty message. */
export const versionOf = (bytes: Uint8Array): number | undefined => (bytes[0] === undefined ? undefined : bytes[0] >> 4)

/**
 * Reads a VRRP message. `version` is the version of the receiver. A message of the other version is refused, although
 * its fields could be read. The checks have the order of VR-RX-10. In this order a short message is still refused for
 * its wrong version or type. Never throws.
 */
export function readMessage(bytes: Uint8Array, family: Family, version: 2 | 3): Message | MessageFault {
  const first = bytes[0]
  if (first === undefined) return 'truncated'
  // VRRP version 2 over IPv6 does not exist (VR-V2-11).
  if (first >> 4 !== version || (version === 2 && family === 'ipv6')) return 'version'
  if ((first & 0x0f) !== ADVERTISEMENT) return 'type'
  if (bytes.length < HEADER) return 'truncated'
  const view = viewOf(bytes)
  const count = view.getUint8(3)
  // The length of a message must match exactly: octets after the last address are as wrong as missing ones (VR-RX-07).
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

/**
 * Returns the addresses of a message in their order. Only the first IPv6 address has a special meaning (RFC 9568
 * §5.2.9).
 */
export function addressesOf(message: Message, family: Family): readonly Address[] {
  const size = addressLength(family)
  return Array.from({ length: message.count }, (_, i) =>
    addressFromBytes(message.addressBytes.subarray(i * size, (i + 1) * size)),
  )
}

/**
 * Returns the checksum forms that match a message. If two forms match, the form of the sender stays unknown (VR-CK-07).
 * IPv6 has only the form with the pseudo-header (RFC 9568 §5.2.8). Version 2 has only the form without the
 * pseudo-header (VR-V2-02).
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
  /** Form of the checksum for IPv4 in version 3. IPv6 and version 2 have one form each and ignore this field. */
  readonly checksum: ChecksumForm
  /** Authentication of version 2; `undefined` means Auth Type 0. */
  readonly authentication?: Authentication | undefined
}

/**
 * Returns the octets of an advertisement for one destination. With the pseudo-header, every unicast copy has a checksum
 * of its own (VR-UC-06). Throws RangeError for values that do not fit into a message; a valid configuration has no such
 * values.
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
    (!within(vrid, 1, 255) && `VRID ${vrid}: an integer from 1 to 255 is required`) ||
    (!within(priority, 0, 255) && `priority ${priority}: an integer from 0 to 255 is required`) ||
    (version === 3 && !within(interval, 1, 4095) && `interval ${interval} cs: 1 to 4095 is required`) ||
    // Rounding could turn a short interval into 0. An interval of 0 would flood the network (VR-V2-13).
    (version === 2 &&
      !within(interval / CENTIS_PER_SECOND, 1, 255) &&
      `interval ${interval} cs: 1 to 255 whole seconds are required`) ||
    (!within(addresses.length, 1, 255) && `${addresses.length} addresses: 1 to 255 are required`) ||
    (authentication !== undefined && version === 3 && 'authentication: version 3 has none') ||
    (authentication !== undefined &&
      authentication.octets.length !== AUTHENTICATION_LENGTH &&
      `${authentication.octets.length} octets of authentication: ${AUTHENTICATION_LENGTH} are required`) ||
    (destinationFamily !== family && `an ${destinationFamily} destination from an ${family} source`) ||
    (addresses.some((value) => familyOf(value) !== family) && `addresses of another family than ${family}`)
  if (wrong !== false) throw new RangeError(`Cannot encode an advertisement with ${wrong}`)
}
