/**
 * The simple password of version 2 (RFC 2338 §5.3.10, gone with RFC 3768, still spoken by keepalived and RouterOS):
 * exactly eight octets on the wire, whatever the operator wrote (VR-V2-06). It travels in clear and protects against
 * mistakes only; all the same nothing here prints it (VR-SEC-05). This file knows no packet and no configuration.
 */

/** Octets of Authentication Data at the end of every version 2 message, also without authentication (VR-V2-01). */
export const AUTHENTICATION_LENGTH = 8

export type Authentication = {
  readonly type: 'simple'
  /** Exactly AUTHENTICATION_LENGTH of them, padded with zeros. */
  readonly octets: readonly number[]
}

/** `cut`: the password has more octets (UTF-8) than count, so the operator gets a warning. */
export function simplePassword(text: string): { readonly authentication: Authentication; readonly cut: boolean } {
  const all = [...text].flatMap(utf8)
  const octets = Array.from({ length: AUTHENTICATION_LENGTH }, (_, i) => all[i] ?? 0)
  return { authentication: { type: 'simple', octets }, cut: all.length > AUTHENTICATION_LENGTH }
}

/** As it goes into a message; zeros without authentication (VR-V2-05). */
export const authenticationData = (authentication: Authentication | undefined): Uint8Array =>
  Uint8Array.from(authentication?.octets ?? new Array<number>(AUTHENTICATION_LENGTH).fill(0))

/** How long it takes does not depend on where the two differ (VR-V2-06). */
export function sameAuthenticationData(left: Uint8Array, right: Uint8Array): boolean {
  let difference = left.length ^ right.length
  for (let i = 0; i < AUTHENTICATION_LENGTH; i++) difference |= (left[i] ?? 0) ^ (right[i] ?? 0)
  return difference === 0
}

/** The pure folders have no TextEncoder. */
function utf8(character: string): number[] {
  const code = character.codePointAt(0) ?? 0
  const tail = (shift: number) => 0x80 | ((code >> shift) & 0x3f)
  if (code < 0x80) return [code]
  if (code < 0x800) return [0xc0 | (code >> 6), tail(0)]
  if (code < 0x10000) return [0xe0 | (code >> 12), tail(6), tail(0)]
  return [0xf0 | (code >> 18), tail(12), tail(6), tail(0)]
}
