/**
 * Decides what dnsmasq on this node receives: the address of `api-int`, and CoreDNS as server of the cluster's domain. The
 * server dnsmasq answers `api-int` from its file of hosts, so that name has an answer without CoreDNS, too. Pure.
 */
import type { Address } from '../../../wire/address.ts'

/** Returns the file of hosts for dnsmasq. */
export const hostsText = (addresses: readonly Address[], domain: string): string =>
  `# holdfast corednsmonitor writes this file.\n${addresses.map((address) => `${address} api-int.${domain}\n`).join('')}`

/** Returns the server of the cluster's domain, as dnsmasq's method SetDomainServers and its option --server have it. */
export const domainServer = (domain: string, port: number): string => `/${domain}/127.0.0.1#${port}`

export type DnsmasqState = {
  /** Unique name of dnsmasq on the message bus; `undefined` if dnsmasq does not run. */
  readonly owner: string | undefined
  /** True if CoreDNS is healthy. */
  readonly isHealthy: boolean
}

/** Call of dnsmasq that follows a change: CoreDNS becomes a server of the domain or stops to be one. */
export type DnsmasqOrder = 'register' | 'takeBack' | undefined

/**
 * Returns what dnsmasq receives next. `registered`: the name on the bus of the dnsmasq that has CoreDNS as server;
 * a dnsmasq that was restarted has another name and no server.
 */
export function dnsmasqOrder(registered: string | undefined, { owner, isHealthy }: DnsmasqState): DnsmasqOrder {
  if (owner === undefined) return undefined
  if (isHealthy) return owner === registered ? undefined : 'register'
  return owner === registered ? 'takeBack' : undefined
}
