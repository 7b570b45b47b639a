/**
 * A message with its IP header in front, for sockets that take whole packets (IP_HDRINCL, IPV6_HDRINCL). PURE. Decided
 * here: what the header says of an advertisement (RFC 9568 §5.1). Refused here: what the message is.
 */
import { type Address, addressBytes, familyOf } from '../../wire/address.ts'
import { concatBytes, uint16 } from '../../wire/bytes.ts'

const TTL = 255
/** CS6, internetwork control (VR-TX-07). */
const TRAFFIC_CLASS = 0xc0
const DONT_FRAGMENT = 0x4000

export type IpPacket = {
  readonly source: Address
  readonly destination: Address
  readonly protocol: number
  readonly message: Uint8Array
  /** Absent: 255. */
  readonly ttl?: number | undefined
}

/** IPv4: identification and header checksum are left to the kernel, which fills in both. */
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
