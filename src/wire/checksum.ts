/**
 * The Internet checksum (RFC 1071) as sums that can be added up: a message, and the pseudo-header of RFC 8200 §8.1 or
 * its IPv4 counterpart. Always computed in full: an incremental update (RFC 1624) saves nothing at one packet an
 * interval and has its own traps (VR-CK-09). Which protocol covers what is not known here.
 */
import { type Address, addressBytes } from './address.ts'

/** Sum of 16-bit words, not folded; an odd last octet counts as the high half of its word (RFC 1071 §4.1). */
export function wordSum(bytes: Uint8Array): number {
  let sum = 0
  for (let i = 0; i < bytes.length; i += 2) sum += ((bytes[i] ?? 0) << 8) | (bytes[i + 1] ?? 0)
  return sum
}

/**
 * IPv4: source, destination, zero, protocol, length. IPv6: source, destination, 32-bit length, zeros, next header.
 * Both come to the same sum, because it does not matter in which word a number stands.
 */
export function pseudoHeaderSum(source: Address, destination: Address, protocol: number, length: number): number {
  return wordSum(addressBytes(source)) + wordSum(addressBytes(destination)) + protocol + length
}

function fold(sum: number): number {
  let folded = sum
  while (folded > 0xffff) folded = (folded % 0x10000) + Math.floor(folded / 0x10000)
  return folded
}

/** What goes into the checksum field. 0x0000 stays 0x0000: the substitution of UDP is not ours (VR-CK-08). */
export const checksumOf = (sum: number): number => ~fold(sum) & 0xffff

/** `sum` includes the received field: so 0xffff in place of 0x0000 verifies too (VR-CK-08). */
export const checksumHolds = (sum: number): boolean => fold(sum) === 0xffff
