/** Finds the sockets that have a port of this node, in the tables of the kernel. Pure. */
import { addressFromBytes } from '../../wire/address.ts'

export type BoundSocket = {
  /** Address of the socket; the unspecified address for all addresses of the node. */
  readonly address: string
  readonly inode: string
}

/** Column of the inode in a line of /proc/net/tcp and /proc/net/udp. */
const INODE = 9

/** Returns the sockets that wait at a port. `table`: text of /proc/net/tcp, udp and others. */
export function boundSockets(table: string, port: number): readonly BoundSocket[] {
  const wanted = port.toString(16).toUpperCase().padStart(4, '0')
  return table.split('\n').flatMap((line) => {
    const columns = line.trim().split(/\s+/)
    const [, local = '', remote = ''] = columns
    if (!local.endsWith(`:${wanted}`) || !remote.endsWith(':0000')) return []
    return [{ address: addressIn(local.slice(0, -wanted.length - 1)), inode: columns[INODE] ?? '' }]
  })
}

/** Reads an address of the tables: words of 32 bits in the byte order of the machine, which is little-endian. */
const addressIn = (hex: string): string =>
  addressFromBytes(
    Uint8Array.from((hex.match(/.{8}/g) ?? []).flatMap((word) => [...Buffer.from(word, 'hex')].toReversed())),
  )
