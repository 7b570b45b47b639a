/**
 * The classic capture file format (pcap 2.4, microseconds, Ethernet), which every analyser reads. PURE. This file does
 * not choose frames, and does not write to disk.
 */

const MAGIC = 0xa1b2c3d4
const ETHERNET = 1
export const SNAP_LENGTH = 65_535

export function pcapHeader(): Uint8Array {
  const bytes = new Uint8Array(24)
  const view = new DataView(bytes.buffer)
  view.setUint32(0, MAGIC, true)
  view.setUint16(4, 2, true)
  view.setUint16(6, 4, true)
  view.setUint32(16, SNAP_LENGTH, true)
  view.setUint32(20, ETHERNET, true)
  return bytes
}

/**
 * Returns one record of a capture file. `at` is CLOCK_REALTIME in milliseconds. `wireLength` is the length of the frame
 * before it was cut.
 */
export function pcapRecord(frame: Uint8Array, at: number, wireLength = frame.length): Uint8Array {
  const bytes = new Uint8Array(16 + frame.length)
  const view = new DataView(bytes.buffer)
  view.setUint32(0, Math.floor(at / 1000), true)
  view.setUint32(4, Math.floor((at % 1000) * 1000), true)
  view.setUint32(8, frame.length, true)
  view.setUint32(12, wireLength, true)
  bytes.set(frame, 16)
  return bytes
}
