/** Ethernet addresses as octets and text, and the mappings of RFC 9568 §7.3, RFC 1112 §6.4 and RFC 2464 §7. */
import { type Address, addressBytes, type Family, familyOf } from './address.ts'

/** MAC address in lower case, separated by colons. */
export type Mac = string & { readonly kind: 'mac' }

export const BROADCAST_MAC = 'ff:ff:ff:ff:ff:ff' as Mac

/** Converts octets to text. Throws RangeError unless there are six octets. */
export function macFromBytes(bytes: Uint8Array): Mac {
  if (bytes.length !== 6)
    throw new RangeError(`Cannot read an Ethernet address from ${bytes.length} octets: 6 are required`)
  return [...bytes].map((octet) => octet.toString(16).padStart(2, '0')).join(':') as Mac
}

/**
 * Parses the MAC address of one host: octets with ":" or "-" between them, in either case. Returns `undefined` for a
 * group address, zeros and other text.
 */
export function parseMac(text: string): Mac | undefined {
  if (!/^[0-9a-f]{2}(:[0-9a-f]{2}){5}$|^[0-9a-f]{2}(-[0-9a-f]{2}){5}$/i.test(text)) return undefined
  const bytes = Uint8Array.from(text.split(/[:-]/), (octet) => Number.parseInt(octet, 16))
  const isGroup = ((bytes[0] ?? 0) & 1) === 1
  return isGroup || bytes.every((octet) => octet === 0) ? undefined : macFromBytes(bytes)
}

export function macBytes(mac: Mac): Uint8Array {
  const bytes = new Uint8Array(6)
  for (let i = 0; i < 6; i++) bytes[i] = Number.parseInt(mac.slice(3 * i, 3 * i + 2), 16)
  return bytes
}

/**
 * Returns the Ethernet group of a multicast address: 01:00:5e and the low 23 bits (IPv4), 33:33 and the low 32 bits
 * (IPv6).
 */
export function multicastMac(group: Address): Mac {
  const bytes = addressBytes(group)
  if (familyOf(group) === 'ipv6') return macFromBytes(Uint8Array.of(0x33, 0x33, ...bytes.subarray(12)))
  return macFromBytes(Uint8Array.of(0x01, 0x00, 0x5e, (bytes[1] ?? 0) & 0x7f, bytes[2] ?? 0, bytes[3] ?? 0))
}

/**
 * Returns the virtual MAC of a VRID (RFC 9568 §7.3). holdfast announces with the MAC of the interface, and recognises
 * the virtual one in packets of peers.
 */
export function virtualRouterMac(vrid: number, family: Family): Mac {
  return macFromBytes(Uint8Array.of(0x00, 0x00, 0x5e, 0x00, family === 'ipv4' ? 0x01 : 0x02, vrid))
}
