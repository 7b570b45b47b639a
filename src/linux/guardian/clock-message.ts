/**
 * Encodes an order for the guardian's clock: the frames that the clock thread sends at each interval. Pure. The format
 * is described in native/guardian/message.h (native byte order, little endian on x64 and arm64). The guardian knows
 * neither VRRP nor ARP, so packets and frames arrive complete. Other files decide when a router may have such an order.
 */
import type { ClockOrder, ClockRecord } from '../../daemon/ports.ts'
import { addressBytes, type Family } from '../../wire/address.ts'
import { SLOTS } from '../native.ts'

const FORMAT = 1
const CLOCK = 8
const FORGET = 9
const HEADER = 12
const ORDER = 68
const PACKET_RECORD = 48
const FRAME_RECORD = 8
const NS_PER_MS = 1_000_000

const align = (length: number): number => (length + 3) & ~3

function header(size: number, kind: number, slot: number, records: number): DataView {
  if (!Number.isInteger(slot) || slot < 0 || slot >= SLOTS)
    throw new RangeError(`slot ${slot}: an integer from 0 to ${SLOTS - 1}`)
  const out = new DataView(new ArrayBuffer(size))
  out.setUint8(0, FORMAT)
  out.setUint8(1, kind)
  out.setUint16(2, slot, true)
  out.setUint32(4, records, true)
  return out
}

/** Returns the message that the guardian may forget the order of a slot. */
export const forgetMessage = (slot: number): Uint8Array => new Uint8Array(header(HEADER, FORGET, slot, 0).buffer)

const familyNumber = (family: Family): number => (family === 'ipv4' ? 4 : 6)
const bytesOf = (record: ClockRecord): Uint8Array => ('frame' in record ? record.frame : record.datagram.bytes)
const headOf = (record: ClockRecord): number => ('frame' in record ? FRAME_RECORD : PACKET_RECORD)

function writeRecord(
  out: DataView,
  at: number,
  record: ClockRecord,
  { family, interfaceIndex, source }: Pick<ClockOrder, 'family' | 'interfaceIndex' | 'source'>,
): void {
  const bytes = new Uint8Array(out.buffer)
  const body = bytesOf(record)
  const head = headOf(record)
  out.setUint8(at, 'frame' in record ? 2 : 1)
  out.setUint16(at + 2, record.every ?? 1, true)
  if ('datagram' in record) {
    out.setUint8(at + 4, familyNumber(family))
    out.setUint8(at + 5, record.datagram.ttl ?? 0)
    out.setUint32(at + 8, interfaceIndex, true)
    bytes.set(addressBytes(source), at + 12)
    bytes.set(addressBytes(record.datagram.destination), at + 28)
  }
  out.setUint32(at + head - 4, body.length, true)
  bytes.set(body, at + head)
}

/** Encodes an order. `generation` is that of the slot's word for this order. */
export function clockMessage(order: Omit<ClockOrder, 'sentAt'>, generation: number): Uint8Array {
  const size = order.records.reduce((sum, record) => sum + headOf(record) + align(bytesOf(record).length), ORDER)
  const out = header(size, CLOCK, order.slot, order.records.length)
  out.setUint32(12, generation, true)
  out.setUint32(16, order.unit, true)
  out.setUint32(20, order.interfaceIndex, true)
  out.setUint8(24, familyNumber(order.family))
  out.setUint8(25, order.vrid)
  out.setBigUint64(28, BigInt(Math.round(order.period * NS_PER_MS)), true)
  out.setBigUint64(36, BigInt(Math.round(order.first * NS_PER_MS)), true)
  out.setBigUint64(44, BigInt(Math.floor(order.advance * NS_PER_MS)), true)
  const bytes = new Uint8Array(out.buffer)
  bytes.set(addressBytes(order.source), 52)
  let at = ORDER
  for (const record of order.records) {
    writeRecord(out, at, record, order)
    at += headOf(record) + align(bytesOf(record).length)
  }
  return bytes
}
