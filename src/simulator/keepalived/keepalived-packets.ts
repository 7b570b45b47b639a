/**
 * Builds the advertisements of a keepalived node, and decides which advertisements of other routers the node accepts.
 * The model discards the same packets as keepalived 2.2.7 (docs/interop.md). Pure.
 */
import type { ResolvedRouter } from '../../config/resolve.ts'
import {
  AUTH_NONE,
  AUTH_SIMPLE,
  addressesOf,
  checksumForms,
  encodeAdvertisement,
  readMessage,
} from '../../vrrp/packet.ts'
import { advertisedBy, type Parameters } from '../../vrrp/parameters.ts'
import { type Address, isMulticast } from '../../wire/address.ts'
import type { Carried } from '../wire.ts'
import type { Advertisement } from './keepalived-instance.ts'

export type Vrrp = Extract<Carried, { readonly kind: 'vrrp' }>
/**
 * Result for a received packet: an accepted advertisement, `discarded`, or `elsewhere` for a packet of another
 * instance.
 */
export type Judged = Advertisement | 'discarded' | 'elsewhere'

/** Hop limit of IPv6 unicast packets from keepalived, which is the kernel's default. */
const UNICAST_HOPS = 64
const TTL = 255

export type Speaker = Pick<ResolvedRouter, 'parameters'> & {
  /**
   * True with keepalived's v3_checksum_as_v2: the instance sends the checksum without pseudo-header, and verifies no
   * checksum.
   */
  readonly messageOnly: boolean
  /** True with keepalived's check_unicast_src: the instance accepts advertisements only from its listed peers. */
  readonly onlyListed: boolean
}

/** Returns one advertisement for each destination of the instance. */
export function advertisementsOf({ messageOnly, parameters }: Speaker, priority: number): readonly Vrrp[] {
  const { advertisementInterval: interval, authentication, family, primaryAddress: source } = parameters
  const { transport, version, vrid } = parameters
  const isUnicast = transport.mode === 'unicast'
  const ttl = isUnicast ? (transport.ttl ?? (family === 'ipv6' ? UNICAST_HOPS : TTL)) : TTL
  const advertisement = { version, vrid, priority, interval, addresses: advertisedBy(parameters) }
  const checksum = messageOnly ? 'message-only' : 'pseudo-header'
  const destinations = isUnicast ? transport.peers.map(({ address }) => address) : [transport.group]
  return destinations.map((destination) => {
    const bytes = encodeAdvertisement(advertisement, { source, destination, checksum, authentication })
    return { kind: 'vrrp', family, source, destination, ttl, bytes }
  })
}

export function judge({ messageOnly, onlyListed, parameters }: Speaker, packet: Vrrp): Judged {
  const { family, primaryAddress, transport, version, vrid } = parameters
  const { bytes, destination, source, ttl } = packet
  if (packet.family !== family || bytes[1] !== vrid || source === primaryAddress) return 'elsewhere'
  if (isMulticast(destination) !== (transport.mode === 'multicast')) return 'elsewhere'
  if (!isMulticast(destination) && destination !== primaryAddress) return 'elsewhere'
  const message = readMessage(bytes, family, version)
  if (typeof message === 'string') return 'discarded'
  if (transport.mode === 'multicast' && ttl !== TTL) return 'discarded'
  if (onlyListed && transport.mode === 'unicast' && !transport.peers.some(({ address }) => address === source))
    return 'discarded'
  const form = version === 3 ? 'pseudo-header' : 'message-only'
  const anySum = messageOnly && version === 3 && family === 'ipv4'
  if (!anySum && !checksumForms(bytes, { source, destination }, version).includes(form)) return 'discarded'
  if (!isAuthentic(message.authentication, parameters)) return 'discarded'
  if (version === 2 && message.interval !== parameters.advertisementInterval) return 'discarded'
  if (!sameList(addressesOf(message, family), advertisedBy(parameters))) return 'discarded'
  return { priority: message.priority, interval: message.interval, source }
}

function isAuthentic(
  sent: { readonly type: number; readonly data: Uint8Array } | undefined,
  { authentication }: Pick<Parameters, 'authentication'>,
): boolean {
  if (sent === undefined) return true
  if (authentication === undefined) return sent.type === AUTH_NONE
  return sent.type === AUTH_SIMPLE && authentication.octets.every((octet, i) => sent.data[i] === octet)
}

/**
 * Returns true if keepalived 2.2.7 accepts the address list of a packet: the same number of addresses as its own, and
 * each of its own addresses. Version 2.4.3 logs a difference and accepts the packet (docs/interop.md).
 */
const sameList = (heard: readonly Address[], own: readonly Address[]): boolean =>
  heard.length === own.length && own.every((each) => heard.includes(each))
