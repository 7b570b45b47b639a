/**
 * Builds the advertisement of a virtual router, and a datagram for each destination (RFC 9568 §7.2): the group, or each
 * unicast peer. The state machine decides when to send. The socket sets TTL and Traffic Class.
 */
import { type Address, isLinkLocal } from '../wire/address.ts'
import type { Advertisement } from './advertisement.ts'
import { encodeAdvertisement } from './packet.ts'
import { advertisedBy, type Parameters } from './parameters.ts'

/**
 * Returns the advertisement of a router. Priority 0 means that the router stops being Active; the other fields are as
 * in any advertisement (VR-TX-02).
 */
export function advertisementOf(parameters: Parameters, priority: number): Advertisement {
  const { advertisementInterval, version, vrid } = parameters
  const addresses = linkLocalFirst(advertisedBy(parameters))
  return { version, vrid, priority, interval: advertisementInterval, addresses }
}

/**
 * Returns a datagram for each destination of an advertisement. With the message-only checksum, and in version 2, all
 * copies have the same octets (VR-UC-06).
 */
export function advertisementDatagrams(
  parameters: Parameters,
  priority: number,
): readonly { readonly destination: Address; readonly bytes: Uint8Array; readonly ttl?: number }[] {
  const { authentication, checksum, primaryAddress, transport } = parameters
  const advertisement = advertisementOf(parameters, priority)
  const destinations = transport.mode === 'multicast' ? [transport.group] : transport.peers.map((peer) => peer.address)
  const ttl = transport.mode === 'unicast' && transport.ttl !== undefined ? { ttl: transport.ttl } : {}
  return destinations.map((destination) => ({
    destination,
    ...ttl,
    bytes: encodeAdvertisement(advertisement, {
      source: primaryAddress,
      destination,
      checksum,
      authentication,
    }),
  }))
}

/**
 * Puts the link-local address first, because EID 8300 checks the first IPv6 address. All other addresses keep the order
 * of the configuration (VR-TX-04).
 */
function linkLocalFirst(addresses: readonly Address[]): readonly Address[] {
  const first = addresses.find(isLinkLocal)
  return first === undefined ? addresses : [first, ...addresses.filter((value) => value !== first)]
}
