/**
 * The frame that moves IPv6 traffic to a new Active: an unsolicited Neighbor Advertisement to all nodes (RFC 9568
 * §6.4.2, RFC 4861 §4.4 and §7.2.6), and how to read one. When it is sent is the announcement plan's business;
 * answering solicitations is the kernel's.
 */
import { type Address, address, addressBytes, addressFromBytes } from '../wire/address.ts'
import { concatBytes, viewOf } from '../wire/bytes.ts'
import { checksumHolds, pseudoHeaderSum, wordSum } from '../wire/checksum.ts'
import { type Mac, macBytes, macFromBytes } from '../wire/mac.ts'
import { ETHERTYPE_IPV6, ICMPV6, icmpv6Frame, NEIGHBOR_DISCOVERY_HOP_LIMIT } from './icmpv6-frame.ts'

const ALL_NODES = address('ff02::1')
const NEIGHBOR_ADVERTISEMENT = 136
/** Start of the IPv6 header, of the ICMPv6 message, and of its options. */
const IP = 14
const ICMP = IP + 40
const OPTIONS = 24
const TARGET_LINK_LAYER = 2
const ROUTER = 0x80
const SOLICITED = 0x40
const OVERRIDE = 0x20

export type UnsolicitedNeighborAdvertisement = {
  readonly address: Address
  readonly mac: Mac
  /** R. False makes hosts drop us from their default router list (RFC 4861 §7.2.5), so say it only when it is meant. */
  readonly router?: boolean
}

/** S=0 because nobody asked, O=1 because the old entry is wrong. The source is the announced address (VR-ND-03). */
export function neighborAdvertisement(announced: UnsolicitedNeighborAdvertisement): Uint8Array {
  const { mac, router = true } = announced
  const target = addressBytes(announced.address)
  const message = concatBytes(
    Uint8Array.of(NEIGHBOR_ADVERTISEMENT, 0, 0, 0, (router ? ROUTER : 0) | OVERRIDE, 0, 0, 0),
    target,
    Uint8Array.of(TARGET_LINK_LAYER, 1),
    macBytes(mac),
  )
  return icmpv6Frame({ source: announced.address, group: ALL_NODES, mac, message })
}

export type NeighborClaim = {
  readonly target: Address
  readonly linkLayer: Mac | undefined
  /** S: an answer to a question. */
  readonly solicited: boolean
}

/** With the checks of RFC 4861 §7.1.2; what fails one, and what is no advertisement, is undefined. Never throws. */
export function readNeighborAdvertisement(frame: Uint8Array): NeighborClaim | undefined {
  if (frame.length < ICMP + OPTIONS) return undefined
  const view = viewOf(frame)
  if (view.getUint16(12) !== ETHERTYPE_IPV6 || view.getUint8(IP) >> 4 !== 6) return undefined
  if (view.getUint8(IP + 6) !== ICMPV6 || view.getUint8(IP + 7) !== NEIGHBOR_DISCOVERY_HOP_LIMIT) return undefined
  const length = view.getUint16(IP + 4)
  if (length < OPTIONS || frame.length < ICMP + length) return undefined
  const message = frame.subarray(ICMP, ICMP + length)
  if (message[0] !== NEIGHBOR_ADVERTISEMENT || message[1] !== 0) return undefined
  const source = addressFromBytes(frame.subarray(IP + 8, IP + 24))
  const destination = addressFromBytes(frame.subarray(IP + 24, ICMP))
  if (!checksumHolds(wordSum(message) + pseudoHeaderSum(source, destination, ICMPV6, length))) return undefined
  const linkLayer = targetLinkLayer(message.subarray(OPTIONS))
  if (linkLayer === 'malformed') return undefined
  const solicited = (view.getUint8(ICMP + 4) & SOLICITED) !== 0
  return { target: addressFromBytes(message.subarray(8, OPTIONS)), linkLayer, solicited }
}

function targetLinkLayer(options: Uint8Array): Mac | undefined | 'malformed' {
  let found: Mac | undefined
  for (let at = 0; at < options.length; ) {
    const size = (options[at + 1] ?? 0) * 8
    // A zero length would never end (RFC 4861 §4.6).
    if (size === 0 || at + size > options.length) return 'malformed'
    if (options[at] === TARGET_LINK_LAYER && size === 8) found = macFromBytes(options.subarray(at + 2, at + 8))
    at += size
  }
  return found
}

/** ff02::1:ff and the low 24 bits (RFC 4291 §2.7.1): where the Active must be heard (VR-ND-05). */
export function solicitedNodeGroup(target: Address): Address {
  const bytes = addressBytes(address('ff02::1:ff00:0'))
  bytes.set(addressBytes(target).subarray(13), 13)
  return addressFromBytes(bytes)
}
