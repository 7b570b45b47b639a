/**
 * Reads an IPv4 packet as a raw socket delivers it, header included (RFC 791 §3.1). The kernel has checked most of it
 * already. The checks here cost nothing, and also apply to replayed captures. Options are skipped. Fragments are
 * refused, because a part of a message is not a message (VR-RX-01).
 */
import { type Address, addressFromBytes } from './address.ts'
import { viewOf } from './bytes.ts'
import { checksumHolds, wordSum } from './checksum.ts'

export type Ipv4Packet = {
  readonly source: Address
  readonly destination: Address
  readonly ttl: number
  /** Octets up to Total Length, without the padding of the link (VR-RX-06). */
  readonly payload: Uint8Array
}

export type Ipv4Fault = 'other-protocol' | 'fragment' | 'ip-header' | 'truncated-ip'

/** Mask of More Fragments and the fragment offset. Don't Fragment and the reserved bit do not matter. */
const FRAGMENTED = 0x3fff
const LEAST_HEADER = 20

/** Reads the packet; `payload` is a view into `bytes`, not a copy. Never throws. */
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
