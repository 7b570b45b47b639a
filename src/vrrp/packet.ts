/**
 * The VRRPv3 message (RFC 9568 §5): octets to fields and back. Reading has two steps: `readMessage` says what stands
 * in the octets and only refuses what cannot be read at all; whether the values are acceptable is decided in
 * receive.ts, in its own order. This file refuses to know who sent the message and which router it is for. Only
 * version 3 is known here; version 2 has another layout and another checksum and gets its own branch when it comes.
 */
import { type Address, address, addressBytes, addressFromBytes, type Family, familyOf } from '../wire/address.ts'
import { viewOf } from '../wire/bytes.ts'
import { checksumHolds, checksumOf, pseudoHeaderSum, wordSum } from '../wire/checksum.ts'
import { type Centis, centis } from '../wire/units.ts'
import type { Advertisement } from './advertisement.ts'
import type { ChecksumForm } from './parameters.ts'

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
  readonly version: 3
  readonly vrid: number
  readonly priority: number
  /** IPvX Addr Count, 0–255. */
  readonly count: number
  /** Max Advertise Interval, 0–4095; the reserved bits before it are ignored (RFC 9568 §5.2.6). */
  readonly interval: Centis
  readonly checksum: number
  readonly addressBytes: Uint8Array
}

export type MessageFault = 'truncated' | 'version' | 'type' | 'length'

const HEADER = 8
const ADVERTISEMENT = 1
const CHECKSUM_OFFSET = 6
const addressLength = (family: Family): 4 | 16 => (family === 'ipv4' ? 4 : 16)

/**
 * `version` is the one that the receiver runs: another one is a fault, also where this file could read it.
 * In the order of VR-RX-10, and so that a short message still names its wrong version or type. Never throws.
 */
export function readMessage(bytes: Uint8Array, family: Family, version: 2 | 3): Message | MessageFault {
  const first = bytes[0]
  if (first === undefined) return 'truncated'
  if (version !== 3 || first >> 4 !== version) return 'version'
  if ((first & 0x0f) !== ADVERTISEMENT) return 'type'
  if (bytes.length < HEADER) return 'truncated'
  const view = viewOf(bytes)
  const count = view.getUint8(3)
  // Exactly: octets after the last address are as wrong as missing ones (VR-RX-07).
  if (bytes.length !== HEADER + count * addressLength(family)) return 'length'
  return {
    version: 3,
    vrid: view.getUint8(1),
    priority: view.getUint8(2),
    count,
    interval: centis(view.getUint16(4) & 0x0fff),
    checksum: view.getUint16(CHECKSUM_OFFSET),
    addressBytes: bytes.subarray(HEADER),
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
 * (RFC 9568 §5.2.8), so a sum over the bare message is no checksum there.
 */
export function checksumForms(bytes: Uint8Array, { source, destination }: ChecksumAddresses): readonly ChecksumForm[] {
  const sum = wordSum(bytes)
  const forms: ChecksumForm[] = []
  if (familyOf(destination) === 'ipv4' && checksumHolds(sum)) forms.push('message-only')
  if (checksumHolds(sum + pseudoHeaderSum(source, destination, VRRP_PROTOCOL, bytes.length))) {
    forms.push('pseudo-header')
  }
  return forms
}

/**
 * The message for one destination: with the pseudo-header every unicast copy has a checksum of its own (VR-UC-06).
 * Throws RangeError for values that cannot be put on the wire: configuration should not have let them through.
 */
export function encodeAdvertisement(
  advertisement: Advertisement,
  { source, destination, checksum }: ChecksumAddresses & { readonly checksum: ChecksumForm },
): Uint8Array {
  const family = familyOf(source)
  refuseUnsendable(advertisement, family, familyOf(destination))
  const { addresses, interval, priority, vrid } = advertisement
  const size = addressLength(family)
  const bytes = new Uint8Array(HEADER + addresses.length * size)
  const view = viewOf(bytes)
  view.setUint8(0, (3 << 4) | ADVERTISEMENT)
  view.setUint8(1, vrid)
  view.setUint8(2, priority)
  view.setUint8(3, addresses.length)
  view.setUint16(4, interval)
  addresses.forEach((value, i) => {
    bytes.set(addressBytes(value), HEADER + i * size)
  })
  const covered =
    family === 'ipv6' || checksum === 'pseudo-header'
      ? pseudoHeaderSum(source, destination, VRRP_PROTOCOL, bytes.length)
      : 0
  view.setUint16(CHECKSUM_OFFSET, checksumOf(wordSum(bytes) + covered))
  return bytes
}

function refuseUnsendable(advertisement: Advertisement, family: Family, destinationFamily: Family): void {
  const { addresses, interval, priority, version, vrid } = advertisement
  const within = (value: number, least: number, most: number) =>
    Number.isInteger(value) && value >= least && value <= most
  const wrong =
    (version !== 3 && `version ${version}: 3 wanted`) ||
    (!within(vrid, 1, 255) && `VRID ${vrid}: 1–255 wanted`) ||
    (!within(priority, 0, 255) && `priority ${priority}: 0–255 wanted`) ||
    (!within(interval, 1, 4095) && `interval ${interval} cs: 1–4095 wanted`) ||
    (!within(addresses.length, 1, 255) && `${addresses.length} addresses: 1–255 wanted`) ||
    (destinationFamily !== family && `an ${destinationFamily} destination from an ${family} source`) ||
    (addresses.some((value) => familyOf(value) !== family) && `addresses of another family than ${family}`)
  if (wrong !== false) throw new RangeError(`Cannot encode an advertisement with ${wrong}`)
}
