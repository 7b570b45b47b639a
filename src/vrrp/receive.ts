/**
 * Decides which packets a virtual router accepts (RFC 9568 §7.1 with EID 8298–8301, RFC 3768 §7.1). The checks run in a
 * fixed order. Counters and logs show the first check that fails as the reason (VR-RX-10). A discarded packet has no
 * other effect (VR-RX-20). `receive.ts` does not know states, timers or sockets. No packet makes it throw, whatever the
 * octets are.
 */
import { type Address, type Family, familyOf, isLinkLocal, isMulticast } from '../wire/address.ts'
import { type Ipv4Fault, readIpv4 } from '../wire/ipv4.ts'
import type { Advertisement, DiscardReason, ReceiveWarning } from './advertisement.ts'
import { authenticationData, sameAuthenticationData } from './authentication.ts'
import {
  AUTH_NONE,
  AUTH_SIMPLE,
  addressesOf,
  type ChecksumAddresses,
  checksumForms,
  type Message,
  readMessage,
  VRRP_PROTOCOL,
  VRRP_TTL,
  versionOf,
  vrrpGroup,
} from './packet.ts'
import { advertisedBy, type ChecksumForm, isOwner, type Parameters, type Peer } from './parameters.ts'

/** A received packet, as a raw socket of IP protocol 112 delivers it. */
export type IncomingPacket = {
  readonly family: Family
  /** Source address of an IPv6 packet. For IPv4 the source address in the packet's own header is used instead. */
  readonly source: Address
  readonly destination: Address | undefined
  readonly ttl: number | undefined
  /** The whole IP packet for IPv4, the VRRP message for IPv6. */
  readonly bytes: Uint8Array
}

/** Checksum form of a received packet: a form that holdfast sends, or the old form of `oldUnicastChecksum`. */
export type HeardForm = ChecksumForm | 'pseudo-header-multicast'
export type Accepted = {
  readonly kind: 'accepted'
  readonly source: Address
  readonly advertisement: Advertisement
  readonly checksumForms: readonly HeardForm[]
  readonly warnings: readonly ReceiveWarning[]
}
export type Discarded = {
  readonly kind: 'discarded'
  readonly reason: DiscardReason
  /** VRID field of a discarded packet, which may be wrong; `undefined` if the packet was too short or damaged. */
  readonly vrid: number | undefined
  /** Version field of a discarded packet, which may be wrong; `undefined` if the packet was too short or damaged. */
  readonly version: number | undefined
}
export type Received = Accepted | Discarded

/** The VRRP message and the facts of its IP header. */
type Enclosed = {
  readonly source: Address
  readonly destination: Address
  readonly ttl: number | undefined
  readonly message: Uint8Array
}

/**
 * Checks a packet and returns its advertisement, or the reason to discard it. `find` returns the virtual router of this
 * node that has a VRID on this interface and address family. `own` tells whether this node sends from an address on
 * this interface. VIPs do not count for `own`, because another owner (255) sends from a VIP.
 */
export function receive(
  packet: IncomingPacket,
  find: (vrid: number) => Parameters | undefined,
  own: (address: Address) => boolean,
): Received {
  const { family } = packet

  // 1. The IP packet is complete and of protocol 112 (VR-RX-01, VR-RX-06). The kernel has checked IPv6 packets.
  const enclosed = family === 'ipv4' ? openIpv4(packet) : openIpv6(packet)
  if (typeof enclosed === 'string') return { kind: 'discarded', reason: enclosed, vrid: undefined, version: undefined }
  const { destination, message: bytes, source, ttl } = enclosed

  // The VRID is checked late (step 9), but earlier checks need options of the router with that VRID. A wrong VRID only
  // selects the options by which the packet is discarded.
  const vrid = bytes[1]
  const version = versionOf(bytes)
  const discard = (reason: DiscardReason): Discarded => ({ kind: 'discarded', reason, vrid, version })
  const parameters = vrid === undefined || vrid === 0 ? undefined : find(vrid)

  // 2. The packet is not our own (VR-RX-16).
  if (own(source)) return discard('self-originated')
  // 3. The destination is our group, or one host (VR-RX-17).
  const toGroup = isMulticast(destination)
  if (toGroup && destination !== expectedGroup(parameters, family)) return discard('destination')
  // 4. The sender is on this link (RFC 9568 §7.1, VR-RX-02, VR-UC-03).
  if (ttl !== VRRP_TTL && mustBeFromLink(parameters, toGroup) && !cannotBeRouted(ttl, source)) return discard('ttl')
  // 5.–7. Version, type and length (VR-RX-03 to VR-RX-07). If this node has no router with the VRID, either version is
  // right, because the packet belongs to another group.
  const message = readMessage(bytes, family, parameters?.version ?? (version === 2 ? 2 : 3))
  if (typeof message === 'string') return discard(message)
  // 8. Checksum (VR-CK-01 to VR-CK-08).
  const forms = heardForms(bytes, { source, destination }, message.version, parameters)
  if (!acceptable(forms, parameters, message.version, family)) return discard('checksum')
  // 9. We run a virtual router with this VRID (VR-RX-09). VRID 0 does not exist (VR-PKT-04).
  if (parameters === undefined) return discard('vrid-unknown')
  // 10. The message has at least one address (EID 8299). RFC 3768 does not require an address (VR-V2-09).
  if (message.version === 3 && message.count === 0) return discard('addr-count-zero')
  // 11. The first IPv6 address is link-local (EID 8300).
  const addresses = addressesOf(message, family)
  const first = addresses[0]
  if (family === 'ipv6' && parameters.reception.firstAddressLinkLocal && (first === undefined || !isLinkLocal(first))) {
    return discard('first-addr-not-link-local')
  }
  // 12. The interval is not 0 (EID 8301), not even in a message with priority 0 (VR-RX-15). Version 2: step 18.
  if (message.version === 3 && message.interval === 0) return discard('adver-int-zero')
  const reason = configuredRefusal(parameters, { source, ttl, toGroup }, message, addresses)
  if (reason !== undefined) return discard(reason)

  const { interval, priority } = message
  const advertisement: Advertisement = { version: message.version, vrid: message.vrid, priority, interval, addresses }
  const warnings = [...advertisementWarnings(advertisement, parameters)]
  // EID 8298: an owner logs each advertisement that it receives, even if the content has a warning of its own.
  if (warnings.includes('multiple-owners')) warnings.push('advert-received-while-owner')
  // If both checksum forms match, the peer's form is unknown (VR-CK-07). If our form does not match, the peer may
  // refuse our packets (VR-CK-10).
  if (hasForms(message.version, family) && !forms.includes(parameters.checksum)) warnings.push('checksum-form-differs')
  warnings.push(...sourceWarnings(parameters, source))
  return { kind: 'accepted', source, advertisement, checksumForms: forms, warnings }
}

type Sent = { readonly source: Address; readonly ttl: number | undefined; readonly toGroup: boolean }

/** Returns the reason why the configuration refuses the packet, checks 13 to 19; `undefined` if the packet passes. */
function configuredRefusal(
  parameters: Parameters,
  { source, ttl, toGroup }: Sent,
  message: Message,
  addresses: readonly Address[],
): DiscardReason | undefined {
  const { reception, transport } = parameters
  // 13. The destination is the group or this host, as configured (VR-UC-05).
  if (transport.mode === 'unicast' && toGroup) return 'multicast-unexpected'
  if (transport.mode === 'multicast' && !toGroup) return 'unicast-unexpected'
  // 14. The sender is a listed peer (VR-UC-02).
  if (!isListed(parameters, source) && reception.onlyListedPeers) return 'unknown-peer'
  // 15. The TTL is in the range of this peer (VR-UC-04).
  const range = peerAt(parameters, source)?.ttl
  if (range !== undefined && !(ttl !== undefined && ttl >= range.least && ttl <= range.most)) return 'ttl-range'
  // 16.–18. Version 2 (RFC 3768 §7.1): authentication and interval are as configured on this node. Version 3 checks the
  // interval only with `intervalCheck`, because a router normally learns the interval.
  const fault = authenticationFault(message, parameters)
  if (fault !== undefined) return fault
  if ((message.version === 2 || reception.intervalCheck) && message.interval !== parameters.advertisementInterval)
    return 'interval-mismatch'
  // 19. The address list is ours, where that is required (VR-V2-08). An owner may have another address list.
  const isChecked = reception.addressListCheck && message.priority !== 255
  return isChecked && !sameSet(addresses, advertisedBy(parameters)) ? 'address-list-mismatch' : undefined
}

const peerAt = ({ transport }: Parameters, source: Address): Peer | undefined =>
  transport.mode === 'multicast' ? undefined : transport.peers.find(({ address }) => address === source)

const isListed = (parameters: Parameters, source: Address): boolean =>
  parameters.transport.mode === 'multicast' || peerAt(parameters, source) !== undefined

function sourceWarnings(parameters: Parameters, source: Address): readonly ReceiveWarning[] {
  const warnings: ReceiveWarning[] = []
  const listed = isListed(parameters, source)
  if (!listed) warnings.push('unlisted-peer')
  // VR-RX-19: an IPv6 source should be link-local. A peer that is listed with a global address advertises from that
  // address.
  const expected = parameters.transport.mode === 'unicast' && listed
  if (parameters.family === 'ipv6' && !isLinkLocal(source) && !expected) warnings.push('source-not-link-local')
  return warnings
}

/** Returns the warnings about the content of a valid advertisement. The advertisement is accepted nevertheless. */
export function advertisementWarnings(advertisement: Advertisement, parameters: Parameters): readonly ReceiveWarning[] {
  const warnings: ReceiveWarning[] = []
  // RFC 9568 §7.1: an interval that differs from ours is logged, and learned nevertheless (VR-RX-12).
  if (advertisement.interval !== parameters.advertisementInterval) warnings.push('interval-mismatch')
  // An empty address list (version 2, VR-V2-09) differs from every list, so it has a warning of its own.
  if (advertisement.addresses.length === 0) warnings.push('addr-count-zero')
  else if (!sameSet(advertisement.addresses, advertisedBy(parameters))) warnings.push('address-list-mismatch')
  // EID 8298: an owner logs the advertisement and stays Active. Between two owners the primary addresses decide
  // (VR-RX-11).
  if (isOwner(parameters)) {
    warnings.push(advertisement.priority === 255 ? 'multiple-owners' : 'advert-received-while-owner')
  }
  return warnings
}

const IPV4_REASONS: Record<Ipv4Fault, DiscardReason> = {
  'other-protocol': 'not-vrrp',
  fragment: 'fragment',
  'ip-header': 'ip-header',
  'truncated-ip': 'truncated-ip',
}

function openIpv4(packet: IncomingPacket): Enclosed | DiscardReason {
  const read = readIpv4(packet.bytes, VRRP_PROTOCOL)
  if (typeof read === 'string') return IPV4_REASONS[read]
  return { source: read.source, destination: read.destination, ttl: read.ttl, message: read.payload }
}

/**
 * Reads an IPv6 packet. Without the destination address, neither the pseudo-header nor the route of the packet can be
 * checked.
 */
function openIpv6({ bytes, destination, source, ttl }: IncomingPacket): Enclosed | DiscardReason {
  return destination === undefined ? 'destination' : { source, destination, ttl, message: bytes }
}

const expectedGroup = (parameters: Parameters | undefined, family: Family): Address =>
  parameters?.transport.mode === 'multicast' ? parameters.transport.group : vrrpGroup(family)

/**
 * Tells whether a packet without a known TTL certainly comes from this link. No router forwards a packet with a
 * link-local source (RFC 4291 §2.5.6).
 */
const cannotBeRouted = (ttl: number | undefined, source: Address): boolean => ttl === undefined && isLinkLocal(source)

/**
 * Tells whether the sender of a packet must be on this link. Multicast is never routed. Unicast peers may be behind
 * routers (`ttlCheck`).
 */
function mustBeFromLink(parameters: Parameters | undefined, toGroup: boolean): boolean {
  return (
    toGroup || parameters === undefined || parameters.transport.mode === 'multicast' || parameters.reception.ttlCheck
  )
}

/** Tells whether two checksum forms exist: only in version 3 over IPv4. */
const hasForms = (version: 2 | 3, family: Family): boolean => version === 3 && family === 'ipv4'

function heardForms(
  bytes: Uint8Array,
  { source, destination }: ChecksumAddresses,
  version: 2 | 3,
  parameters: Parameters | undefined,
): readonly HeardForm[] {
  const forms = checksumForms(bytes, { source, destination }, version)
  const old = parameters?.reception.oldUnicastChecksum === true && parameters.transport.mode === 'unicast'
  if (!old || forms.length > 0 || !hasForms(version, familyOf(destination))) return forms
  const toGroup = checksumForms(bytes, { source, destination: vrrpGroup('ipv4') }, version)
  return toGroup.includes('pseudo-header') ? ['pseudo-header-multicast'] : []
}

function acceptable(
  forms: readonly HeardForm[],
  parameters: Parameters | undefined,
  version: 2 | 3,
  family: Family,
): boolean {
  const wanted = parameters?.reception.checksumAccepted ?? 'either'
  return wanted === 'either' || !hasForms(version, family) ? forms.length > 0 : forms.includes(wanted)
}

/**
 * Checks the authentication of a version 2 message (VR-V2-04 to VR-V2-06). With Auth Type 0 the eight octets may have
 * any value.
 */
function authenticationFault(
  { authentication: sent }: Message,
  { authentication: wanted }: Parameters,
): 'auth-type' | 'auth-data' | undefined {
  if (sent === undefined) return undefined
  if (sent.type !== (wanted === undefined ? AUTH_NONE : AUTH_SIMPLE)) return 'auth-type'
  if (wanted === undefined || sameAuthenticationData(sent.data, authenticationData(wanted))) return undefined
  return 'auth-data'
}

/** Compares two address lists. The order (VR-RX-13) and repeated addresses do not matter. */
function sameSet(left: readonly Address[], right: readonly Address[]): boolean {
  const a = new Set(left)
  const b = new Set(right)
  return a.size === b.size && [...a].every((value) => b.has(value))
}
