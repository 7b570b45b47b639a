/**
 * The last will as bytes: what the guardian needs to finish our business without us. PURE. The format is the one at
 * the top of native/guardian.c (native endian, little on x64 and arm64); the guardian knows neither VRRP nor
 * rtnetlink, so both arrive complete. Refused here: the socketpair, and when a will is due.
 */
import type { LastWill } from '../daemon/ports.ts'
import { addressBytes } from '../wire/address.ts'
import { removeAddressRequest } from './netlink/message.ts'

/** What the guardian keeps of one unit; 255 IPv6 addresses to 254 unicast peers are 1.1 MB. */
export const LARGEST_MESSAGE = 2 << 20

const FORMAT = 1
const ARM = 1
const WITHDRAW = 2
const HEADER = 12
const PACKET = 44

const align = (length: number): number => (length + 3) & ~3
const view = (bytes: Uint8Array): DataView => new DataView(bytes.buffer)

function header(bytes: Uint8Array, kind: number, unit: number, requests: number, packets: number): Uint8Array {
  if (!Number.isInteger(unit) || unit < 0 || unit > 0xffff) throw new RangeError(`Cannot name a will ${unit}: 0–65535`)
  bytes.set([FORMAT, kind])
  view(bytes).setUint16(2, unit, true)
  view(bytes).setUint32(4, requests, true)
  view(bytes).setUint32(8, packets, true)
  return bytes
}

export const withdrawMessage = (unit: number): Uint8Array => header(new Uint8Array(HEADER), WITHDRAW, unit, 0, 0)

/** Sequence numbers stay 0: the guardian sets its own before it sends. */
export function armMessage(will: LastWill): Uint8Array {
  const requests = will.remove.map((wanted) => removeAddressRequest(wanted, 0))
  const packets = will.packets.flatMap((group) => group.datagrams.map((datagram) => ({ ...group, ...datagram })))
  const size =
    requests.reduce((sum, bytes) => sum + 4 + align(bytes.length), HEADER) +
    packets.reduce((sum, { bytes }) => sum + PACKET + align(bytes.length), 0)
  const message = header(new Uint8Array(size), ARM, will.unit, requests.length, packets.length)
  const out = view(message)
  let at = HEADER
  for (const bytes of requests) {
    out.setUint32(at, bytes.length, true)
    message.set(bytes, at + 4)
    at += 4 + align(bytes.length)
  }
  for (const { family, interfaceIndex, source, destination, bytes } of packets) {
    message[at] = family === 'ipv4' ? 4 : 6
    out.setUint32(at + 4, interfaceIndex, true)
    message.set(addressBytes(source), at + 8)
    message.set(addressBytes(destination), at + 24)
    out.setUint32(at + 40, bytes.length, true)
    message.set(bytes, at + PACKET)
    at += PACKET + align(bytes.length)
  }
  return message
}
