/**
 * Size of the packets of a router (VR-PKT-10). An advertisement is never fragmented, because not every receiver
 * reassembles packets. This file knows nothing about the interface on which a packet is sent.
 */
import { messageLength } from '../vrrp/packet.ts'
import type { Parameters } from '../vrrp/parameters.ts'
import type { Family } from '../wire/address.ts'

const IP_HEADER: Readonly<Record<Family, number>> = { ipv4: 20, ipv6: 40 }

/** MTU of Ethernet, in octets. A larger packet needs an interface with a larger MTU. */
export const USUAL_MTU = 1500

/** Returns the size of an advertisement with its IP header, in octets. */
export const datagramLength = (of: Pick<Parameters, 'addresses' | 'advertised' | 'family' | 'version'>): number =>
  IP_HEADER[of.family] + messageLength(of)
