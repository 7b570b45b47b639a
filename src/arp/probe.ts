/**
 * Who else holds an address: the question in IPv4 (ARP probe, RFC 5227 §2.1.1; in IPv6 neighbor-solicitation.ts) and
 * what counts as an answer in both. For the state Leaving and for duplicate detection; never a reason to give an address up by itself (VR-ARP-08): what follows from
 * a claim is decided elsewhere, and so is which claims are our own.
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
  /** Whom to ask, broadcast by default; a group's address asks only those who listen to the group. */
  readonly to?: Mac
}

/** Sender address 0, so that asking does not spoil anybody's cache. */
export function arpProbe({ address: target, mac, to = BROADCAST_MAC }: ArpProbe): Uint8Array {
  const frame = arpRequest({ senderMac: mac, senderAddress: NOBODY, targetMac: NO_MAC, targetAddress: target })
  frame.set(macBytes(to))
  return frame
}

export type ArpQuestion = ArpProbe & {
  /** An address of ours: whoever is asked learns where it is, which is true. */
  readonly source: Address
  readonly to: Mac
}

/** An ordinary request (RFC 826), answered also where arp_ignore asks for a sender of the same network. */
export function arpQuestion({ address: target, mac, source, to }: ArpQuestion): Uint8Array {
  const frame = arpRequest({ senderMac: mac, senderAddress: source, targetMac: NO_MAC, targetAddress: target })
  frame.set(macBytes(to))
  return frame
}

export type Claim = { readonly address: Address; readonly mac: Mac }

/**
 * The address that an ARP packet's sender, or a Neighbor Advertisement, says it has, and under which MAC. A probe
 * claims nothing. Never throws; frames of any other kind are undefined.
 */
export function claimOf(frame: Uint8Array): Claim | undefined {
  const arp = readArp(frame)
  if (arp !== undefined) return plausible(arp.senderAddress, arp.senderMac)
  const neighbor = readNeighborAdvertisement(frame)
  if (neighbor === undefined) return undefined
  // A solicited answer may leave the option out (RFC 4861 §4.4); then the frame itself says where it came from.
  return plausible(neighbor.target, neighbor.linkLayer ?? macFromBytes(frame.subarray(6, 12)))
}

/**
 * An ARP reply or a solicited Neighbor Advertisement that was said to this host, so it is what the host had asked. Of a
 * frame that makes a claim.
 */
export function isAnswerTo(frame: Uint8Array, mac: Mac): boolean {
  if (macFromBytes(frame.subarray(0, 6)) !== mac) return false
  return isArpReply(frame) || readNeighborAdvertisement(frame)?.solicited === true
}

/** Nobody holds the unspecified address, a group or the broadcast address, and nobody is reached at a group MAC. */
function plausible(claimed: Address, mac: Mac): Claim | undefined {
  const bytes = addressBytes(claimed)
  const groupMac = ((macBytes(mac)[0] ?? 0) & 1) === 1
  if (groupMac || mac === NO_MAC || mac === BROADCAST_MAC || isMulticast(claimed)) return undefined
  if (bytes.every((octet) => octet === 0)) return undefined
  if (familyOf(claimed) === 'ipv4' && bytes.every((octet) => octet === 0xff)) return undefined
  return { address: claimed, mac }
}
