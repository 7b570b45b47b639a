/**
 * What one advertisement of a virtual router is, and to whom it goes (RFC 9568 §7.2): the group, or one copy for each
 * unicast peer. When to send is the state machine's business; TTL and Traffic Class are set on the socket.
 */
import { type Address, isLinkLocal } from '../wire/address.ts'
import type { Advertisement } from './advertisement.ts'
import { encodeAdvertisement } from './packet.ts'
import { advertisedBy, type Parameters } from './parameters.ts'

/** Priority 0 is the release packet: everything else stays as it is (VR-TX-02). */
export function advertisementOf(parameters: Parameters, priority: number): Advertisement {
  const { advertisementInterval, version, vrid } = parameters
  const addresses = linkLocalFirst(advertisedBy(parameters))
  return { version, vrid, priority, interval: advertisementInterval, addresses }
}

/** One copy per destination; with the message-only checksum, and in version 2, all copies are the same octets (VR-UC-06). */
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

/** EID 8300 looks at the first IPv6 address, wherever the operator wrote it; the others keep their order (VR-TX-04). */
function linkLocalFirst(addresses: readonly Address[]): readonly Address[] {
  const first = addresses.find(isLinkLocal)
  return first === undefined ? addresses : [first, ...addresses.filter((value) => value !== first)]
}
