/** Finds out where CoreDNS listens, and whether another program has its port. Pure. */
import { corefileTree } from './corefile-tree.ts'

const DNS_PORT = 53

/** Returns the port of the first server block of a Corefile. */
export function corefilePort(text: string): number {
  const blocks = corefileTree(text)
  const [server] = 'problem' in blocks ? [] : blocks
  const [, port] = /:(\d{1,5})$/.exec(server?.name ?? '') ?? []
  return port === undefined ? DNS_PORT : Number(port)
}

/** Tells whether a socket of this network namespace has the port. `table`: text of /proc/net/udp, tcp and others. */
export function isBound(table: string, port: number): boolean {
  const wanted = port.toString(16).toUpperCase().padStart(4, '0')
  return table.split('\n').some((line) => {
    const [, local = '', remote = ''] = line.trim().split(/\s+/)
    return local.endsWith(`:${wanted}`) && remote.endsWith(':0000')
  })
}
