/**
 * Octets as they travel: network byte order, read through DataView, never through a platform type. What the octets
 * mean is decided by the codec that asks.
 */

/** A view of exactly these octets; reading past them throws RangeError, so callers check lengths first. */
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

/** The 16 bits of `value` as two octets. */
export const uint16 = (value: number): Uint8Array => Uint8Array.of((value >> 8) & 0xff, value & 0xff)
