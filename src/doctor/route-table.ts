/**
 * Reads /proc/net/route: by which interface would this node send to an IPv4 address? Only the main table is used. For
 * this reason the answer explains strict reverse path filtering (RFC 3704 §2.2), but the kernel may decide otherwise.
 * PURE.
 */
import { type Address, addressBytes } from '../wire/address.ts'

type Route = { readonly interface: string; readonly network: number; readonly mask: number; readonly metric: number }

/** Parses a hexadecimal field of the route table. The kernel prints it in the byte order of a little-endian machine. */
const hex = (text: string | undefined): number => {
  const value = Number.parseInt(text ?? '', 16) >>> 0
  return ((value & 0xff) << 24) | ((value & 0xff00) << 8) | ((value >>> 8) & 0xff00) | (value >>> 24)
}
const RTF_UP = 1
const RTF_REJECT = 0x200

export function routeTable(text: string): (to: Address) => string | undefined {
  const routes = text
    .split('\n')
    .slice(1)
    .flatMap((line): readonly Route[] => {
      const [on, destination, , flags, , , metric, mask] = line.trim().split(/\s+/)
      const bits = Number.parseInt(flags ?? '', 16)
      if (on === undefined || mask === undefined || (bits & RTF_UP) === 0 || (bits & RTF_REJECT) !== 0) return []
      return [{ interface: on, network: hex(destination), mask: hex(mask), metric: Number(metric) }]
    })
    .sort((a, b) => (b.mask >>> 0) - (a.mask >>> 0) || a.metric - b.metric)
  return (to) => {
    const octets = addressBytes(to)
    if (octets.length !== 4) return undefined
    const wanted = octets.reduce((value, octet) => (value << 8) | octet, 0)
    return routes.find(({ mask, network }) => (wanted & mask) === (network & mask))?.interface
  }
}
