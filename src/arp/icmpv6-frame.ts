/**
 * Writes and reads the frame around a message of Neighbor Discovery: Ethernet, IPv6 with hop limit 255 (RFC 4861 §7.1),
 * and the checksum with the pseudo-header (RFC 4443 §2.3). This file knows nothing about the meaning of the message.
 */
import { type Address, addressBytes, addressFromBytes } from '../wire/address.ts'
import { concatBytes, uint16, viewOf } from '../wire/bytes.ts'
import { checksumHolds, checksumOf, pseudoHeaderSum, wordSum } from '../wire/checksum.ts'
import { type Mac, macBytes, macFromBytes, multicastMac } from '../wire/mac.ts'

export const ETHERTYPE_IPV6 = 0x86dd
export const ICMPV6 = 58
export const NEIGHBOR_DISCOVERY_HOP_LIMIT = 255
const CHECKSUM_OFFSET = 2
/** Offsets of the IPv6 header and of the ICMPv6 message in the frame. */
const IP = 14
const ICMP = IP + 40
/** Length of a Solicitation or Advertisement without options: type, code, checksum, flags, target. */
const WITHOUT_OPTIONS = 24

export type Icmpv6Message = {
  readonly source: Address
  readonly group: Address
  /** MAC of the interface that sends the frame. */
  readonly mac: Mac
  /** The ICMPv6 message with zeros in place of the checksum, which `icmpv6Frame` writes into it. */
  readonly message: Uint8Array
}

export function icmpv6Frame({ source, group, mac, message }: Icmpv6Message): Uint8Array {
  const covered = pseudoHeaderSum(source, group, ICMPV6, message.length)
  message.set(uint16(checksumOf(wordSum(message) + covered)), CHECKSUM_OFFSET)
  return concatBytes(
    macBytes(multicastMac(group)),
    macBytes(mac),
    uint16(ETHERTYPE_IPV6),
    Uint8Array.of(0x60, 0, 0, 0),
    uint16(message.length),
    Uint8Array.of(ICMPV6, NEIGHBOR_DISCOVERY_HOP_LIMIT),
    addressBytes(source),
    addressBytes(group),
    message,
  )
}

export type NeighborMessage = {
  readonly source: Address
  readonly destination: Address
  /** The ICMPv6 message, at least up to its target. */
  readonly message: Uint8Array
  readonly target: Address
  readonly options: Uint8Array
}

/**
 * Reads a Neighbor Solicitation or Advertisement of this ICMPv6 type, with the checks that RFC 4861 §7.1.1 and §7.1.2 share.
 * `undefined` if a check fails, and for all other frames. Never throws.
 */
export function readNeighborMessage(frame: Uint8Array, type: number): NeighborMessage | undefined {
  if (frame.length < ICMP + WITHOUT_OPTIONS) return undefined
  const view = viewOf(frame)
  if (view.getUint16(12) !== ETHERTYPE_IPV6 || view.getUint8(IP) >> 4 !== 6) return undefined
  if (view.getUint8(IP + 6) !== ICMPV6 || view.getUint8(IP + 7) !== NEIGHBOR_DISCOVERY_HOP_LIMIT) return undefined
  const length = view.getUint16(IP + 4)
  if (length < WITHOUT_OPTIONS || frame.length < ICMP + length) return undefined
  const message = frame.subarray(ICMP, ICMP + length)
  if (message[0] !== type || message[1] !== 0) return undefined
  const source = addressFromBytes(frame.subarray(IP + 8, IP + 24))
  const destination = addressFromBytes(frame.subarray(IP + 24, ICMP))
  if (!checksumHolds(wordSum(message) + pseudoHeaderSum(source, destination, ICMPV6, length))) return undefined
  const target = addressFromBytes(message.subarray(8, WITHOUT_OPTIONS))
  return { source, destination, message, target, options: message.subarray(WITHOUT_OPTIONS) }
}

/**
 * Returns the MAC of the link-layer option `kind`: 1 of the source, 2 of the target (RFC 4861 §4.6.1). `undefined` if
 * the message has no such option.
 */
export function linkLayerOption(options: Uint8Array, kind: 1 | 2): Mac | undefined | 'malformed' {
  let found: Mac | undefined
  for (let at = 0; at < options.length; ) {
    const size = (options[at + 1] ?? 0) * 8
    // An option length of zero would cause an endless loop (RFC 4861 §4.6).
    if (size === 0 || at + size > options.length) return 'malformed'
    if (options[at] === kind && size === 8) found = macFromBytes(options.subarray(at + 2, at + 8))
    at += size
  }
  return found
}
