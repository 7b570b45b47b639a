/**
 * Puts an IP header in front of a message, for sockets that take whole packets (IP_HDRINCL, IPV6_HDRINCL). Pure. This
 * file decides the header of an advertisement (RFC 9568 §5.1). Other files decide the message.
 */
import { type Address, addressBytes, familyOf } from '../../wire/address.ts'
import { concatBytes, uint16 } from '../../wire/bytes.ts'

const TTL = 255
/** Traffic class CS6, internetwork control (VR-TX-07). */
const TRAFFIC_CLASS = 0xc0
const DONT_FRAGMENT = 0x4000

export type IpPacket = {
  readonly source: Address
  readonly destination: Address
  readonly protocol: number
  readonly message: Uint8Array
  /** TTL or hop limit of the packet; 255 if absent. */
  readonly ttl?: number | undefined
}

/** Returns an IP packet with the message. In IPv4 the kernel fills in identification and header checksum. */
export function ipPacket({ source, destination, protocol, message, ttl = TTL }: IpPacket): Uint8Array {
  const addresses = [addressBytes(source), addressBytes(destination)]
  if (familyOf(destination) === 'ipv4') {
    return concatBytes(
      Uint8Array.of(0x45, TRAFFIC_CLASS),
      uint16(20 + message.length),
      uint16(0),
      uint16(DONT_FRAGMENT),
      Uint8Array.of(ttl, protocol, 0, 0),
      ...addresses,
      message,
    )
  }
  return concatBytes(
    uint16(0x6000 | (TRAFFIC_CLASS << 4)),
    uint16(0),
    uint16(message.length),
    Uint8Array.of(protocol, ttl),
    ...addresses,
    message,
  )
}
