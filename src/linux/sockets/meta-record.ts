/**
 * Reads the metadata that the addon wrote beside each packet: one view per socket, one table of offsets (native.ts). No
 * bytes are copied. Returned bytes are valid until the next receive().
 */
import { type Address, addressFromBytes, type Family } from '../../wire/address.ts'
import { FLAG, META, META_SIZE, type NativeSocket } from '../native.ts'

export type MetaReader = {
  /** Returns the octets of a packet. A packet longer than the socket's size is cut. */
  bytes(packet: number): Uint8Array
  truncated(packet: number): boolean
  /** True if the addon has noted the packet as a repetition. */
  repeated(packet: number): boolean
  ttl(packet: number): number | undefined
  interfaceIndex(packet: number): number
  /** Returns the kernel's receive time of a packet in CLOCK_REALTIME milliseconds; 0 = none. */
  realtime(packet: number): number
  /** Returns the number of packets that the receive queue dropped so far; 0 = not reported. */
  overflow(packet: number): number
  destination(packet: number, family: Family): Address | undefined
  source(packet: number): Uint8Array
  packetType(packet: number): number
  /**
   * Returns the VLAN tag that the kernel took off a frame, with the TPID in the high half. 0 = no tag, or
   * PACKET_AUXDATA is off.
   */
  vlan(packet: number): number
}

export function readMeta(socket: NativeSocket, size: number): MetaReader {
  const { meta, data } = socket
  const view = new DataView(meta.buffer, meta.byteOffset, meta.byteLength)
  const at = (packet: number, offset: number): number => packet * META_SIZE + offset
  return {
    bytes(packet) {
      const start = packet * size
      return data.subarray(start, start + view.getUint32(at(packet, META.length), true))
    },
    truncated: (packet) => (view.getUint32(at(packet, META.flags), true) & FLAG.truncated) !== 0,
    repeated: (packet) => (view.getUint32(at(packet, META.flags), true) & FLAG.repeated) !== 0,
    ttl(packet) {
      const ttl = view.getInt32(at(packet, META.ttl), true)
      return ttl < 0 ? undefined : ttl
    },
    interfaceIndex: (packet) => view.getUint32(at(packet, META.interfaceIndex), true),
    realtime: (packet) => view.getFloat64(at(packet, META.realtime), true),
    overflow: (packet) => view.getUint32(at(packet, META.overflow), true),
    destination(packet, family) {
      const start = at(packet, META.destination)
      const octets = meta.subarray(start, start + (family === 'ipv4' ? 4 : 16))
      return octets.every((octet) => octet === 0) ? undefined : addressFromBytes(octets)
    },
    source(packet) {
      const start = at(packet, META.source)
      return meta.subarray(start, start + view.getUint32(at(packet, META.sourceLength), true))
    },
    packetType: (packet) => view.getUint8(at(packet, META.packetType)),
    vlan: (packet) => view.getUint32(at(packet, META.vlan), true),
  }
}
