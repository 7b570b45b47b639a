/**
 * Puts a VRRP message into an IPv4 packet, in the form in which a raw socket delivers packets. Only tests use this
 * function: when the daemon sends, the kernel adds the IP header.
 */
import { type Address, addressBytes } from '../wire/address.ts'
import { checksumOf, wordSum } from '../wire/checksum.ts'

export type Envelope = {
  readonly source: Address
  readonly destination: Address
  readonly ttl?: number
  readonly protocol?: number
}

export function ipv4Packet(payload: Uint8Array, envelope: Envelope): Uint8Array {
  const { destination, protocol = 112, source, ttl = 255 } = envelope
  const bytes = new Uint8Array(20 + payload.length)
  const view = new DataView(bytes.buffer)
  view.setUint16(0, 0x45c0)
  view.setUint16(2, bytes.length)
  view.setUint8(8, ttl)
  view.setUint8(9, protocol)
  bytes.set(addressBytes(source), 12)
  bytes.set(addressBytes(destination), 16)
  view.setUint16(10, checksumOf(wordSum(bytes.subarray(0, 20))))
  bytes.set(payload, 20)
  return bytes
}
