/**
 * A message of Neighbor Discovery on its way to a group: Ethernet, IPv6 with hop limit 255 (RFC 4861 §7.1), and the
 * checksum over the pseudo-header (RFC 4443 §2.3). Refuses to know what the message says.
 */
import { type Address, addressBytes } from '../wire/address.ts'
import { concatBytes, uint16 } from '../wire/bytes.ts'
import { checksumOf, pseudoHeaderSum, wordSum } from '../wire/checksum.ts'
import { type Mac, macBytes, multicastMac } from '../wire/mac.ts'

export const ETHERTYPE_IPV6 = 0x86dd
export const ICMPV6 = 58
export const NEIGHBOR_DISCOVERY_HOP_LIMIT = 255
const CHECKSUM_OFFSET = 2

export type Icmpv6Message = {
  readonly source: Address
  readonly group: Address
  /** Of the interface that sends. */
  readonly mac: Mac
  /** With zeros where the checksum belongs; it is filled in, in place. */
  readonly message: Uint8Array
}

export function icmpv6Frame({ source, group, mac, message }: Icmpv6Message): Uint8Array {
  const covered = pseudoHeaderSum(source, group, ICMPV6, message.length)
  message.set(uint16(checksumOf(wordSum(message) + covered)), CHECKSUM_OFFSET)
  return concatBytes(
    macBytes(multicastMac(group)),
    macBytes(mac),
    uint16(ETHERTYPE_IPV6),
    Uint8Array.of(0x60, 0, 0, 0),
    uint16(message.length),
    Uint8Array.of(ICMPV6, NEIGHBOR_DISCOVERY_HOP_LIMIT),
    addressBytes(source),
    addressBytes(group),
    message,
  )
}
