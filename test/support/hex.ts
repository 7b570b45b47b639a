/** Octets as text, for vectors and for messages of failing tests. Nothing in src/ needs this. */

/** Throws RangeError for anything that is not whole octets: a vector with a typo must not become a shorter packet. */
export function fromHex(text: string): Uint8Array {
  if (!/^([0-9a-f]{2})*$/i.test(text)) throw new RangeError(`Cannot read "${text}" as hexadecimal octets`)
  return Uint8Array.from(text.match(/../g) ?? [], (octet) => Number.parseInt(octet, 16))
}

export const toHex = (bytes: Uint8Array): string => [...bytes].map((b) => b.toString(16).padStart(2, '0')).join('')
