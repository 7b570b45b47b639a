/**
 * The IPv4 packet as a raw socket delivers it, header included (RFC 791 §3.1): where the payload starts, where it
 * ends, who sent it. The kernel has checked most of this; doing it again costs nothing and keeps replayed captures
 * honest. Options are allowed and skipped; fragments are refused because a part of a message is no message (VR-RX-01).
 */
import { type Address, addressFromBytes } from './address.ts'
import { viewOf } from './bytes.ts'
import { checksumHolds, wordSum } from './checksum.ts'

export type Ipv4Packet = {
  readonly source: Address
  readonly destination: Address
  readonly ttl: number
  /** Up to Total Length; link padding after it is not part of the packet (VR-RX-06). */
  readonly payload: Uint8Array
}

export type Ipv4Fault = 'other-protocol' | 'fragment' | 'ip-header' | 'truncated-ip'

/** More Fragments and the offset; Don't Fragment and the reserved bit say nothing about this packet. */
const FRAGMENTED = 0x3fff
const LEAST_HEADER = 20

/** A view into `bytes`, not a copy. Never throws. */
export function readIpv4(bytes: Uint8Array, protocol: number): Ipv4Packet | Ipv4Fault {
  if (bytes.length < LEAST_HEADER) return 'truncated-ip'
  const view = viewOf(bytes)
  if (view.getUint8(9) !== protocol) return 'other-protocol'
  if ((view.getUint16(6) & FRAGMENTED) !== 0) return 'fragment'
  const headerLength = (view.getUint8(0) & 0x0f) * 4
  const totalLength = view.getUint16(2)
  if (view.getUint8(0) >> 4 !== 4 || headerLength < LEAST_HEADER || totalLength < headerLength) return 'ip-header'
  if (bytes.length < headerLength) return 'truncated-ip'
  if (!checksumHolds(wordSum(bytes.subarray(0, headerLength)))) return 'ip-header'
  if (bytes.length < totalLength) return 'truncated-ip'
  return {
    source: addressFromBytes(bytes.subarray(12, 16)),
    destination: addressFromBytes(bytes.subarray(16, 20)),
    ttl: view.getUint8(8),
    payload: bytes.subarray(headerLength, totalLength),
  }
}
