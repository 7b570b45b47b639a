/** Finds out where CoreDNS listens. Pure. */
import { corefileTree } from './corefile-tree.ts'

const DNS_PORT = 53

/** Returns the port of the first server block of a Corefile. */
export function corefilePort(text: string): number {
  const blocks = corefileTree(text)
  const [server] = 'problem' in blocks ? [] : blocks
  const [, port] = /:(\d{1,5})$/.exec(server?.name ?? '') ?? []
  return port === undefined ? DNS_PORT : Number(port)
}
