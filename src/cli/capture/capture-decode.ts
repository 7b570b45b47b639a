/**
 * Reads an Ethernet frame for `holdfast capture`. This file decides which frames are shown (VRRP, ARP without ordinary
 * requests, Neighbor Solicitations and Advertisements), and how a receiver without a configuration judges an
 * advertisement. PURE. This file knows nothing about the source of frames, and the format of a line. No returned value
 * has an octet of a password (VR-SEC-05).
 */
import { isArpReply, readArp } from '../../arp/arp-packet.ts'
import { readNeighborAdvertisement } from '../../arp/neighbor-advertisement.ts'
import { readNeighborSolicitation } from '../../arp/neighbor-solicitation.ts'
import type { DiscardReason, ReceiveWarning } from '../../vrrp/advertisement.ts'
import {
  AUTH_NONE,
  AUTH_SIMPLE,
  addressesOf,
  type Message,
  readMessage,
  versionOf,
  vrrpGroup,
} from '../../vrrp/packet.ts'
import type { Parameters } from '../../vrrp/parameters.ts'
import { optionsOf, profileKnobs } from '../../vrrp/profile.ts'
import { type IncomingPacket, receive } from '../../vrrp/receive.ts'
import { type Address, address, addressFromBytes, type Family, isMulticast } from '../../wire/address.ts'
import { concatBytes, viewOf } from '../../wire/bytes.ts'
import { type Mac, macFromBytes } from '../../wire/mac.ts'
import { centis, millis } from '../../wire/units.ts'

export type VrrpSighting = {
  readonly kind: 'vrrp'
  readonly family: Family
  readonly source: Address
  readonly destination: Address
  /** TTL or hop limit of the captured packet. */
  readonly ttl: number
  /** VRRP version of the captured message; `undefined`, as the fields below, if the message is too short. */
  readonly version: number | undefined
  readonly vrid: number | undefined
  readonly priority: number | undefined
  readonly intervalMs: number | undefined
  readonly addresses: readonly Address[] | undefined
  /** Kind of authentication of a version 2 packet; `undefined` for version 3. */
  readonly authentication: 'none' | 'simple' | 'unknown' | undefined
  /** Reason why every receiver discards the packet. `undefined` if a receiver may accept the packet. */
  readonly discard: DiscardReason | undefined
  readonly warnings: readonly ReceiveWarning[]
}

export type ArpSighting = {
  readonly kind: 'arp'
  /** `gratuitous`: a request or reply in which the sender announces its own address (RFC 5227 §3). */
  readonly what: 'probe' | 'gratuitous' | 'reply'
  readonly address: Address
  /** MAC of the host that has the address; for a probe, MAC of the sender. */
  readonly mac: Mac
}

export type SolicitationSighting = {
  readonly kind: 'ns'
  readonly source: Address
  readonly destination: Address
  /** Asked address; `undefined` if a check of RFC 4861 §7.1.1 fails: every host ignores such a message. */
  readonly address: Address | undefined
  /** MAC in the source link-layer address option of the message; `undefined` if the option is missing. */
  readonly mac: Mac | undefined
  readonly duplicateDetection: boolean
}

export type NeighborSighting = {
  readonly kind: 'na'
  readonly source: Address
  readonly destination: Address
  /** Announced address; `undefined` if a check of RFC 4861 §7.1.2 fails: every host ignores such a message. */
  readonly address: Address | undefined
  readonly mac: Mac | undefined
  readonly router: boolean
  readonly solicited: boolean
  readonly override: boolean
}

export type Sighting = {
  readonly sourceMac: Mac
  readonly destinationMac: Mac
  readonly vlan: number | undefined
} & (VrrpSighting | ArpSighting | SolicitationSighting | NeighborSighting)

const ETHERNET = 14
const TYPE = { ipv4: 0x0800, arp: 0x0806, vlan: 0x8100, ipv6: 0x86dd } as const
const VRRP = 112
const ICMPV6 = 58
const NEIGHBOR_SOLICITATION = 135
const NEIGHBOR_ADVERTISEMENT = 136
const IPV4_HEADER = 20
const IPV6_HEADER = 40
const NOBODY = address('0.0.0.0')

/**
 * Returns what kind of frame this is. `undefined` if `holdfast capture` does not show frames of this kind, or the frame
 * is too short. Never throws.
 */
export function sightingOf(frame: Uint8Array): Sighting | undefined {
  if (frame.length < ETHERNET) return undefined
  const type = viewOf(frame).getUint16(12)
  // The kernel removes the VLAN tag of a frame, and the tap adds the tag again. Because of this, a captured frame may
  // have a tag.
  if (type === TYPE.vlan && frame.length >= ETHERNET + 4) {
    const inner = sightingOf(concatBytes(frame.subarray(0, 12), frame.subarray(16)))
    return inner === undefined ? undefined : { ...inner, vlan: viewOf(frame).getUint16(14) & 0x0fff }
  }
  const seen =
    type === TYPE.arp
      ? arpSighting(frame)
      : type === TYPE.ipv4
        ? ipv4Sighting(frame.subarray(ETHERNET))
        : type === TYPE.ipv6
          ? ipv6Sighting(frame)
          : undefined
  if (seen === undefined) return undefined
  const destinationMac = macFromBytes(frame.subarray(0, 6))
  return { sourceMac: macFromBytes(frame.subarray(6, 12)), destinationMac, vlan: undefined, ...seen }
}

/** Returns ARP announcements, replies and probes. Ordinary requests are left out, because a LAN has many. */
function arpSighting(frame: Uint8Array): ArpSighting | undefined {
  const arp = readArp(frame)
  if (arp === undefined) return undefined
  const { senderAddress, senderMac: mac, targetAddress } = arp
  if (senderAddress === NOBODY) return { kind: 'arp', what: 'probe', address: targetAddress, mac }
  if (senderAddress === targetAddress) return { kind: 'arp', what: 'gratuitous', address: senderAddress, mac }
  return isArpReply(frame) ? { kind: 'arp', what: 'reply', address: senderAddress, mac } : undefined
}

function ipv4Sighting(bytes: Uint8Array): VrrpSighting | undefined {
  if (bytes.length < IPV4_HEADER || bytes[9] !== VRRP) return undefined
  const source = addressFromBytes(bytes.subarray(12, 16))
  const destination = addressFromBytes(bytes.subarray(16, 20))
  const header = ((bytes[0] ?? 0) & 0x0f) * 4
  const message = bytes.subarray(header, viewOf(bytes).getUint16(2))
  return judged({ family: 'ipv4', source, destination, ttl: bytes[8] ?? 0, bytes }, message)
}

function ipv6Sighting(frame: Uint8Array): VrrpSighting | SolicitationSighting | NeighborSighting | undefined {
  const packet = frame.subarray(ETHERNET)
  if (packet.length < IPV6_HEADER) return undefined
  const source = addressFromBytes(packet.subarray(8, 24))
  const destination = addressFromBytes(packet.subarray(24, IPV6_HEADER))
  const bytes = packet.subarray(IPV6_HEADER, IPV6_HEADER + viewOf(packet).getUint16(4))
  if (packet[6] === VRRP) {
    return judged({ family: 'ipv6', source, destination, ttl: packet[7] ?? 0, bytes }, bytes)
  }
  if (packet[6] !== ICMPV6) return undefined
  if (bytes[0] === NEIGHBOR_SOLICITATION) {
    const question = readNeighborSolicitation(frame)
    const duplicateDetection = question?.duplicateDetection === true
    return { kind: 'ns', source, destination, address: question?.target, mac: question?.linkLayer, duplicateDetection }
  }
  if (bytes[0] !== NEIGHBOR_ADVERTISEMENT) return undefined
  const claim = readNeighborAdvertisement(frame)
  const flags = bytes[4] ?? 0
  return {
    kind: 'na',
    source,
    destination,
    address: claim?.target,
    mac: claim?.linkLayer,
    router: (flags & 0x80) !== 0,
    solicited: (flags & 0x40) !== 0,
    override: (flags & 0x20) !== 0,
  }
}

function judged(packet: IncomingPacket & { destination: Address; ttl: number }, octets: Uint8Array): VrrpSighting {
  const { destination, family, source, ttl } = packet
  const version = versionOf(octets)
  const decodedVersion = version === 2 ? 2 : 3
  const read = readMessage(octets, family, decodedVersion)
  const message = typeof read === 'string' ? undefined : read
  const parameters = impartial(packet, decodedVersion, message)
  // Every VRID counts as configured and no address as our own. With a real configuration, the receiver would discard
  // packets of other VRIDs and of our own addresses.
  const received = receive(
    packet,
    (vrid) => ({ ...parameters, vrid }),
    () => false,
  )
  return {
    kind: 'vrrp',
    family,
    source,
    destination,
    ttl,
    version,
    vrid: octets[1],
    priority: message?.priority,
    intervalMs: message === undefined ? undefined : message.interval * 10,
    addresses: message === undefined ? undefined : addressesOf(message, family),
    authentication: authenticationOf(message),
    discard: received.kind === 'discarded' ? received.reason : undefined,
    warnings: received.kind === 'accepted' ? received.warnings : [],
  }
}

/**
 * Returns parameters of a receiver that agree with the message in all settings in which receivers may differ. If this
 * receiver discards a packet, every receiver discards it.
 */
function impartial(
  { destination, family, source }: IncomingPacket,
  version: 2 | 3,
  message: Message | undefined,
): Parameters {
  const sent = message?.authentication
  const octets = sent?.type === AUTH_SIMPLE ? [...sent.data] : undefined
  const multicast = destination === undefined || isMulticast(destination)
  return {
    vrid: 0,
    family,
    version,
    priority: 100,
    advertisementInterval: message?.interval ?? centis(100),
    addresses: message === undefined ? [] : addressesOf(message, family),
    preempt: true,
    preemptDelay: millis(0),
    minHold: millis(0),
    primaryAddress: NOBODY,
    transport: multicast
      ? { mode: 'multicast', group: vrrpGroup(family) }
      : { mode: 'unicast', peers: [{ address: source }] },
    peers: [],
    authentication: octets === undefined ? undefined : { type: 'simple', octets },
    ...optionsOf(profileKnobs('holdfast', version), version),
  }
}

function authenticationOf(message: Message | undefined): VrrpSighting['authentication'] {
  const type = message?.authentication?.type
  if (type === undefined) return undefined
  return type === AUTH_NONE ? 'none' : type === AUTH_SIMPLE ? 'simple' : 'unknown'
}
