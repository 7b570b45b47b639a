/**
 * Adds the API's virtual addresses to the servers that are asked. A worker has no API server of its own, and finds the
 * server of its kubeconfig by the Corefile. If the external load balancer there is dead, only a virtual address leads to
 * the news that the Corefile has to change. The certificate is verified for the name in the kubeconfig.
 */
import { isIP } from 'node:net'
import { type Address, familyOf } from '../../../wire/address.ts'
import type { ClusterAccess, Endpoint } from '../api/cluster-client.ts'

/** Returns the access with each virtual address as a further server, after those of `access`. */
export const withVips =
  (access: ClusterAccess, vips: readonly Address[]): ClusterAccess =>
  async () => {
    const endpoints = await access()
    const [own] = endpoints
    return own === undefined ? endpoints : [...endpoints, ...vips.map((vip) => endpointAt(vip, own))]
  }

function endpointAt(vip: Address, { options, server }: Endpoint): Endpoint {
  const url = new URL(server)
  const name = url.hostname.replace(/^\[|\]$/g, '')
  url.hostname = familyOf(vip) === 'ipv6' ? `[${vip}]` : vip
  // The agent of the options is a proxy, which may be as unreachable as the server.
  const { agent: _, ...others } = { agent: undefined, ...options }
  const named = isIP(name) === 0 ? { servername: name } : {}
  return { server: url.href.replace(/\/+$/, ''), options: { ...named, ...others } }
}
