/**
 * The simple password of version 2 (RFC 2338 §5.3.10). RFC 3768 removed it, but keepalived and RouterOS still send it.
 * On the wire the password has exactly eight octets, whatever length the operator wrote (VR-V2-06). The password
 * travels in clear text, so it protects against mistakes only. No function here prints the password (VR-SEC-05).
 * `authentication.ts` does not know packets or the configuration.
 */

/**
 * Number of octets of Authentication Data at the end of every version 2 message, also without authentication
 * (VR-V2-01).
 */
export const AUTHENTICATION_LENGTH = 8

export type Authentication = {
  readonly type: 'simple'
  /** The password, padded with zeros to AUTHENTICATION_LENGTH octets. */
  readonly octets: readonly number[]
}

/**
 * Converts a password to its eight octets. `cut` is true if the password has more than eight octets in UTF-8. The
 * caller then warns the operator.
 */
export function simplePassword(text: string): { readonly authentication: Authentication; readonly cut: boolean } {
  const all = [...text].flatMap(utf8)
  const octets = Array.from({ length: AUTHENTICATION_LENGTH }, (_, i) => all[i] ?? 0)
  return { authentication: { type: 'simple', octets }, cut: all.length > AUTHENTICATION_LENGTH }
}

/** Returns the eight octets of Authentication Data for a message; eight zeros without authentication (VR-V2-05). */
export const authenticationData = (authentication: Authentication | undefined): Uint8Array =>
  Uint8Array.from(authentication?.octets ?? new Array<number>(AUTHENTICATION_LENGTH).fill(0))

/** Compares two passwords in a time that does not depend on the position of the first difference (VR-V2-06). */
export function sameAuthenticationData(left: Uint8Array, right: Uint8Array): boolean {
  let difference = left.length ^ right.length
  for (let i = 0; i < AUTHENTICATION_LENGTH; i++) difference |= (left[i] ?? 0) ^ (right[i] ?? 0)
  return difference === 0
}

/** Returns the UTF-8 octets of one character. The pure folders have no TextEncoder. */
function utf8(character: string): number[] {
  const code = character.codePointAt(0) ?? 0
  const tail = (shift: number) => 0x80 | ((code >> shift) & 0x3f)
  if (code < 0x80) return [code]
  if (code < 0x800) return [0xc0 | (code >> 6), tail(0)]
  if (code < 0x10000) return [0xe0 | (code >> 12), tail(6), tail(0)]
  return [0xf0 | (code >> 18), tail(12), tail(6), tail(0)]
}
