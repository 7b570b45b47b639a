/**
 * Asks in IPv4 which other host holds an address (ARP probe, RFC 5227 §2.1.1), and reads the answers of IPv4 and IPv6.
 * `neighbor-solicitation.ts` asks in IPv6. The state Leaving and duplicate address detection use this module. An answer
 * alone is never a reason to give an address up (VR-ARP-08). The callers decide about the consequences of an answer,
 * and which frames are our own.
 */
import { type Address, address, addressBytes, familyOf, isMulticast } from '../wire/address.ts'
import { BROADCAST_MAC, type Mac, macBytes, macFromBytes } from '../wire/mac.ts'
import { arpRequest, isArpReply, readArp } from './arp-packet.ts'
import { readNeighborAdvertisement } from './neighbor-advertisement.ts'

const NO_MAC = macFromBytes(new Uint8Array(6))
const NOBODY = address('0.0.0.0')

export type ArpProbe = {
  readonly address: Address
  readonly mac: Mac
  /** Destination MAC, broadcast by default. A group MAC asks only the members of that group. */
  readonly to?: Mac
}

/** Returns an ARP probe. The sender address of a probe is 0, so that it changes no ARP cache. */
export function arpProbe({ address: target, mac, to = BROADCAST_MAC }: ArpProbe): Uint8Array {
  const frame = arpRequest({ senderMac: mac, senderAddress: NOBODY, targetMac: NO_MAC, targetAddress: target })
  frame.set(macBytes(to))
  return frame
}

export type ArpQuestion = ArpProbe & {
  /**
   * Source of the question: an address of this node. The asked host learns our MAC for this address, which is right.
   */
  readonly source: Address
  readonly to: Mac
}

/** Returns an ordinary ARP request (RFC 826). Hosts with arp_ignore answer it if the sender is in the same network. */
export function arpQuestion({ address: target, mac, source, to }: ArpQuestion): Uint8Array {
  const frame = arpRequest({ senderMac: mac, senderAddress: source, targetMac: NO_MAC, targetAddress: target })
  frame.set(macBytes(to))
  return frame
}

export type Announcement = { readonly address: Address; readonly mac: Mac }

/**
 * Returns the address and MAC that an ARP packet or a Neighbor Advertisement announces as its own; `undefined` for a
 * probe and for other frames. Never throws.
 */
export function announcementIn(frame: Uint8Array): Announcement | undefined {
  const arp = readArp(frame)
  if (arp !== undefined) return plausible(arp.senderAddress, arp.senderMac)
  const neighbor = readNeighborAdvertisement(frame)
  if (neighbor === undefined) return undefined
  // A solicited answer may leave the link-layer option out (RFC 4861 §4.4). Without this option the source MAC of the
  // frame is used.
  return plausible(neighbor.target, neighbor.linkLayer ?? macFromBytes(frame.subarray(6, 12)))
}

/**
 * Tells whether the frame is an ARP reply or a solicited Neighbor Advertisement to this MAC, so that it answers our
 * question.
 */
export function isAnswerTo(frame: Uint8Array, mac: Mac): boolean {
  if (macFromBytes(frame.subarray(0, 6)) !== mac) return false
  return isArpReply(frame) || readNeighborAdvertisement(frame)?.solicited === true
}

/**
 * Returns the pair of address and MAC if a host can have both; `undefined` for unspecified, group and broadcast
 * addresses, and for group MACs.
 */
function plausible(target: Address, mac: Mac): Announcement | undefined {
  const bytes = addressBytes(target)
  const groupMac = ((macBytes(mac)[0] ?? 0) & 1) === 1
  if (groupMac || mac === NO_MAC || mac === BROADCAST_MAC || isMulticast(target)) return undefined
  if (bytes.every((octet) => octet === 0)) return undefined
  if (familyOf(target) === 'ipv4' && bytes.every((octet) => octet === 0xff)) return undefined
  return { address: target, mac }
}
