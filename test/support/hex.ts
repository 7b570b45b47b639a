/**
 * Converts octets to text and back, for test vectors and for messages of failing tests. No code of src/ needs this
 * file.
 */

/**
 * Converts hexadecimal text to octets. Throws RangeError if the text is not whole octets, because a mistyped vector
 * must not become a shorter packet.
 */
export function fromHex(text: string): Uint8Array {
  if (!/^([0-9a-f]{2})*$/i.test(text)) throw new RangeError(`Cannot read "${text}" as hexadecimal octets`)
  return Uint8Array.from(text.match(/../g) ?? [], (octet) => Number.parseInt(octet, 16))
}

export const toHex = (bytes: Uint8Array): string => [...bytes].map((b) => b.toString(16).padStart(2, '0')).join('')
