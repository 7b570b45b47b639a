/**
 * Reads the upstream DNS servers from a resolv.conf. This file decides which servers CoreDNS may forward to: not this
 * node itself, because a query would never leave the node, and at most 15, because CoreDNS refuses more. Pure.
 */
import { type Address, parseAddress } from '../../../wire/address.ts'

/** Addresses at which systemd-resolved answers on its own node. */
const RESOLVED: readonly string[] = ['127.0.0.53', '127.0.0.54']

/** Largest number of servers that CoreDNS' plugin `forward` accepts. */
export const MOST_UPSTREAMS = 15

export type Upstreams = {
  /** Servers in the order of the file, each once. */
  readonly servers: readonly string[]
  /** Lines that name no usable server, each with the reason. */
  readonly notes: readonly string[]
}

/** Returns the servers to which queries may be forwarded. `own`: the addresses of this node. */
export function upstreamsIn(resolvConf: string, own: readonly Address[]): Upstreams {
  const servers: string[] = []
  const notes: string[] = []
  const here: readonly string[] = [...own, '127.0.0.1', '::1']
  for (const text of nameserversIn(resolvConf)) {
    const [plain = '', zone, ...more] = text.split('%')
    const address = more.length === 0 && zone !== '' ? parseAddress(plain) : undefined
    if (address === undefined) notes.push(`nameserver ${JSON.stringify(text)} is left out: expected an IP address`)
    else {
      const server = zone === undefined ? address : `${address}%${zone}`
      if (!here.includes(address) && !servers.includes(server)) servers.push(server)
    }
  }
  const left = servers.slice(MOST_UPSTREAMS)
  if (left.length > 0)
    notes.push(`nameserver ${left.join(', ')} is left out: CoreDNS accepts at most ${MOST_UPSTREAMS}`)
  return { servers: servers.slice(0, MOST_UPSTREAMS), notes }
}

/** Tells whether a resolv.conf leads to systemd-resolved. */
export const isOfResolved = (resolvConf: string): boolean =>
  nameserversIn(resolvConf).some((server) => RESOLVED.includes(server))

/** Returns the words after `nameserver` in a resolv.conf, in the order of the lines. */
export const nameserversIn = (resolvConf: string): readonly string[] =>
  resolvConf.split('\n').flatMap((line) => {
    const [keyword, server] = line.trim().split(/\s+/)
    return keyword === 'nameserver' && server !== undefined ? [server] : []
  })
