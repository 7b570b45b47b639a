/**
 * struct sockaddr of the five families in use, as bytes (linux/in.h, in6.h, netlink.h, if_packet.h, un.h; little endian
 * hosts). Other files decide which family a socket uses.
 */
import { type Address, addressBytes, addressFromBytes } from '../../wire/address.ts'

export const AF = { unix: 1, inet: 2, inet6: 10, netlink: 16, packet: 17 } as const

const view = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/**
 * Returns an IP socket address with port 0, because raw sockets have no port. `scope` is the interface index, and
 * matters for link-local and group addresses.
 */
export function ipSockaddr(address: Address, scope: number): Uint8Array {
  const octets = addressBytes(address)
  const bytes = new Uint8Array(octets.length === 4 ? 16 : 28)
  view(bytes).setUint16(0, octets.length === 4 ? AF.inet : AF.inet6, true)
  bytes.set(octets, octets.length === 4 ? 4 : 8)
  if (octets.length === 16) view(bytes).setUint32(24, scope, true)
  return bytes
}

/** Returns the IP address in a sockaddr; `undefined` if the sockaddr is of another family. */
export function addressOfSockaddr(bytes: Uint8Array): Address | undefined {
  const family = bytes.length >= 2 ? view(bytes).getUint16(0, true) : 0
  if (family === AF.inet && bytes.length >= 8) return addressFromBytes(bytes.subarray(4, 8))
  if (family === AF.inet6 && bytes.length >= 24) return addressFromBytes(bytes.subarray(8, 24))
  return undefined
}

/**
 * Returns the address of a name. The length of the sockaddr is the length of the name, because an abstract name begins
 * with NUL and may contain NULs.
 */
export function unixSockaddr(path: string): Uint8Array {
  const octets = Buffer.from(path, 'latin1')
  const bytes = new Uint8Array(2 + octets.length)
  view(bytes).setUint16(0, AF.unix, true)
  bytes.set(octets, 2)
  return bytes
}

/**
 * Returns a netlink address. `groups` is the bit mask of the first 32 multicast groups. The kernel chooses the port.
 */
export function netlinkSockaddr(groups: number): Uint8Array {
  const bytes = new Uint8Array(12)
  view(bytes).setUint16(0, AF.netlink, true)
  view(bytes).setUint32(8, groups, true)
  return bytes
}

/** Returns the netlink port of the sender; port 0 is the kernel. */
export const netlinkPort = (bytes: Uint8Array): number | undefined =>
  bytes.length >= 8 && view(bytes).getUint16(0, true) === AF.netlink ? view(bytes).getUint32(4, true) : undefined

/** Returns a packet socket address without a link address, because our frames contain their own Ethernet header. */
export function packetSockaddr(etherType: number, interfaceIndex: number): Uint8Array {
  const bytes = new Uint8Array(20)
  view(bytes).setUint16(0, AF.packet, true)
  view(bytes).setUint16(2, etherType, false)
  view(bytes).setInt32(4, interfaceIndex, true)
  return bytes
}
