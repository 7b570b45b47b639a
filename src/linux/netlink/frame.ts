/**
 * Layout of every rtnetlink message: a header, a fixed part, attributes. Native byte order; x64 and arm64 are little
 * endian. This file does not know the meaning of any attribute.
 */
export const HEADER = 16
const NLM_F_REQUEST = 0x001
export const NLM_F_ACK = 0x004
export const NLM_F_DUMP = 0x300

export type Attribute = { readonly type: number; readonly value: Uint8Array }

const align = (length: number): number => (length + 3) & ~3
export const view = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

export function request(
  type: number,
  flags: number,
  sequence: number,
  fixed: Uint8Array,
  attributes: readonly Attribute[],
): Uint8Array {
  const tail = attributes.reduce((sum, { value }) => sum + 4 + align(value.length), 0)
  const bytes = new Uint8Array(HEADER + fixed.length + tail)
  const out = view(bytes)
  out.setUint32(0, bytes.length, true)
  out.setUint16(4, type, true)
  out.setUint16(6, NLM_F_REQUEST | flags, true)
  out.setUint32(8, sequence, true)
  bytes.set(fixed, HEADER)
  let at = HEADER + fixed.length
  for (const { type, value } of attributes) {
    out.setUint16(at, 4 + value.length, true)
    out.setUint16(at + 2, type, true)
    bytes.set(value, at + 4)
    at += 4 + align(value.length)
  }
  return bytes
}

export function words(...values: number[]): Uint8Array {
  const bytes = new Uint8Array(4 * values.length)
  for (const [i, value] of values.entries()) view(bytes).setUint32(4 * i, value, true)
  return bytes
}

/**
 * Returns the attributes of a message by kind. If a kind occurs twice, the last attribute counts. Returns `undefined`
 * for a wrong length.
 */
export function attributesOf(bytes: Uint8Array): Map<number, Uint8Array> | undefined {
  const found = new Map<number, Uint8Array>()
  const input = view(bytes)
  let at = 0
  while (at + 4 <= bytes.length) {
    const length = input.getUint16(at, true)
    if (length < 4 || at + length > bytes.length) return undefined
    // The two top bits mean "nested" and "network order". These two bits do not change the kind of an attribute.
    found.set(input.getUint16(at + 2, true) & 0x3fff, bytes.subarray(at + 4, at + length))
    at += align(length)
  }
  return found
}

/** Returns the number in an attribute; `undefined` if the attribute is missing or too short for a number. */
export const number = (bytes: Uint8Array | undefined): number | undefined =>
  bytes !== undefined && bytes.length >= 4 ? view(bytes).getUint32(0, true) : undefined
