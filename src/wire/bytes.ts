/**
 * Reads and writes octets in network byte order, through DataView and never through a type of the platform. The calling
 * codec decides what the octets mean.
 */

/** Returns a view of exactly these octets. Reading past them throws RangeError, so callers check lengths first. */
export const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

export function concatBytes(...parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let offset = 0
  for (const part of parts) {
    whole.set(part, offset)
    offset += part.length
  }
  return whole
}

/** Returns the 16 bits of `value` as two octets. */
export const uint16 = (value: number): Uint8Array => Uint8Array.of((value >> 8) & 0xff, value & 0xff)
