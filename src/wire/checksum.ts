/**
 * The Internet checksum (RFC 1071), as sums that can be added: of a message, and of the pseudo-header (RFC 8200 §8.1,
 * or its IPv4 counterpart). A checksum is always computed in full. An incremental update (RFC 1624) saves nothing at
 * one packet an interval, and is easy to get wrong (VR-CK-09). This file does not know which protocol covers which
 * octets.
 */
import { type Address, addressBytes } from './address.ts'

/** Returns the sum of the 16-bit words, not folded. An odd last octet is the high half of its word (RFC 1071 §4.1). */
export function wordSum(bytes: Uint8Array): number {
  let sum = 0
  for (let i = 0; i < bytes.length; i += 2) sum += ((bytes[i] ?? 0) << 8) | (bytes[i + 1] ?? 0)
  return sum
}

/**
 * Returns the sum of the pseudo-header. IPv4: source, destination, zero, protocol, length. IPv6: source, destination,
 * 32-bit length, zeros, next header. The pseudo-headers of IPv4 and IPv6 give the same sum, because the position of a
 * number does not matter.
 */
export function pseudoHeaderSum(source: Address, destination: Address, protocol: number, length: number): number {
  return wordSum(addressBytes(source)) + wordSum(addressBytes(destination)) + protocol + length
}

function fold(sum: number): number {
  let folded = sum
  while (folded > 0xffff) folded = (folded % 0x10000) + Math.floor(folded / 0x10000)
  return folded
}

/**
 * Returns the value of the checksum field. 0x0000 stays 0x0000, because VRRP does not have the substitution of UDP
 * (VR-CK-08).
 */
export const checksumOf = (sum: number): number => ~fold(sum) & 0xffff

/**
 * Tells whether a received checksum is right. `sum` includes the received field, so 0xffff instead of 0x0000 is also
 * right (VR-CK-08).
 */
export const checksumHolds = (sum: number): boolean => fold(sum) === 0xffff
