/**
 * Finds the API servers for HAProxy: the control plane nodes of the cluster in the family of the first VIP, sorted by
 * address as text. This file decides the values that the template of haproxy.cfg gets. A node is left out if it has no
 * address, or if its name could change the meaning of the configuration.
 */
import { refusedValue } from '../../../base/refused-value.ts'
import { type Address, type Family, familyOf } from '../../../wire/address.ts'
import type { Machine } from '../engine/desired-state.ts'
import type { PeerWishes } from '../engine/peer-address.ts'
import { byText, groupOf, type PeerNode } from '../engine/peers.ts'
import { machineNetwork, vrrpInterface } from '../engine/vrrp-interface.ts'

export type Backend = { readonly host: string; readonly address: Address; readonly port: number }

export type Backends = {
  /** API servers; empty if the cluster names none that can be used. */
  readonly backends: readonly Backend[]
  /** Texts about nodes that were left out. */
  readonly problems: readonly string[]
}

/** Pattern of a Kubernetes name, which is one word of haproxy.cfg. */
const NAME = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/

/** Returns how the addresses of the API servers are found on this machine. */
export function backendWishes(vips: readonly Address[], { node, files }: Machine): readonly PeerWishes[] {
  const [first] = vips
  if (first === undefined) return []
  const place = vrrpInterface(node, files, [first], vips)
  return [
    {
      family: familyOf(first),
      vips,
      network: machineNetwork(node, first, vips),
      own: typeof place === 'string' ? undefined : place.source,
    },
  ]
}

/** Returns the API servers of the cluster. */
export function backendsOf(peers: readonly PeerNode[], family: Family, port: number): Backends {
  const problems: string[] = []
  const byAddress = new Map<Address, Backend>()
  for (const { name, addresses } of groupOf(peers, 'api').toSorted((one, other) => byText(one.name, other.name))) {
    const address = addresses[family]
    const other = address && byAddress.get(address)
    if (!NAME.test(name)) problems.push(refusedValue('node', name, 'a name of letters, digits, "-" and "."'))
    else if (address === undefined) problems.push(`node ${name}: no usable address`)
    else if (other !== undefined) problems.push(`node ${name}: its address ${address} is that of ${other.host}`)
    else byAddress.set(address, { host: name, address, port })
  }
  return { backends: [...byAddress.values()].toSorted((one, other) => byText(one.address, other.address)), problems }
}

/** Values for the template of haproxy.cfg, with the names that upstream's templates use. */
export type BalancerValues = {
  readonly LBConfig: {
    readonly ApiPort: number
    readonly LbPort: number
    readonly StatPort: number
    readonly Backends: readonly { readonly Host: string; readonly Address: string; readonly Port: number }[]
    readonly FrontendAddr: string
  }
}

type Ports = { readonly apiPort: number; readonly lbPort: number; readonly statPort: number }

/** Returns the values for the template. */
export const balancerValues = (
  backends: readonly Backend[],
  family: Family,
  { apiPort, lbPort, statPort }: Ports,
): BalancerValues => ({
  LBConfig: {
    ApiPort: apiPort,
    LbPort: lbPort,
    StatPort: statPort,
    Backends: backends.map(({ host, address, port }) => ({ Host: host, Address: address, Port: port })),
    FrontendAddr: family === 'ipv6' ? '::' : '',
  },
})
