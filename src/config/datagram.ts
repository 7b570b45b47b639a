/**
 * How large the packets of a router are (VR-PKT-10). An advertisement is never fragmented: not every receiver puts it
 * together again. This file does not know which interface it leaves by.
 */
import { messageLength } from '../vrrp/packet.ts'
import type { Parameters } from '../vrrp/parameters.ts'
import type { Family } from '../wire/address.ts'

const IP_HEADER: Readonly<Record<Family, number>> = { ipv4: 20, ipv6: 40 }

/** Of Ethernet; what does not fit needs an interface of which somebody made sure. */
export const USUAL_MTU = 1500

export const datagramLength = (of: Pick<Parameters, 'addresses' | 'advertised' | 'family' | 'version'>): number =>
  IP_HEADER[of.family] + messageLength(of)
