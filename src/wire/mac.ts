/** Ethernet addresses: six octets and their text. The mappings of RFC 9568 §7.3, RFC 1112 §6.4 and RFC 2464 §7. */
import { type Address, addressBytes, type Family, familyOf } from './address.ts'

/** Lower case, colon separated. */
export type Mac = string & { readonly kind: 'mac' }

export const BROADCAST_MAC = 'ff:ff:ff:ff:ff:ff' as Mac

/** Throws RangeError unless there are six octets. */
export function macFromBytes(bytes: Uint8Array): Mac {
  if (bytes.length !== 6) throw new RangeError(`Cannot read an Ethernet address from ${bytes.length} octets: 6 wanted`)
  return [...bytes].map((octet) => octet.toString(16).padStart(2, '0')).join(':') as Mac
}

/** Of one host: neither a group nor nobody. Octets with ":" or "-" between them, in either case. */
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

/** Group address to Ethernet group: 01:00:5e + low 23 bits, 33:33 + low 32 bits. */
export function multicastMac(group: Address): Mac {
  const bytes = addressBytes(group)
  if (familyOf(group) === 'ipv6') return macFromBytes(Uint8Array.of(0x33, 0x33, ...bytes.subarray(12)))
  return macFromBytes(Uint8Array.of(0x01, 0x00, 0x5e, (bytes[1] ?? 0) & 0x7f, bytes[2] ?? 0, bytes[3] ?? 0))
}

/** RFC 9568 §7.3. holdfast announces with the interface MAC; the virtual one is recognised in what peers send. */
export function virtualRouterMac(vrid: number, family: Family): Mac {
  return macFromBytes(Uint8Array.of(0x00, 0x00, 0x5e, 0x00, family === 'ipv4' ? 0x01 : 0x02, vrid))
}
