/**
 * Finds settings of one virtual router that must be equal on all its nodes and are not. If such a setting differs, VRRP
 * routers discard each other's advertisements, or two nodes answer. Pure: only configurations are compared, and nothing
 * is simulated.
 */
import type { VirtualRouter } from '../config/config.ts'
import { familyOf } from '../wire/address.ts'
import type { Play } from './simulation.ts'

type Member = { readonly node: string; readonly router: VirtualRouter }

/** Returns one sentence for each setting that differs between the nodes; an empty list if no setting differs. */
export function differencesOf(nodes: Play['nodes']): readonly string[] {
  const groups = new Map<string, Member[]>()
  for (const { config, name: node } of nodes)
    for (const router of config.virtualRouters) {
      const key = keyOf(router)
      groups.set(key, [...(groups.get(key) ?? []), { node, router }])
    }
  return [...groups].flatMap(([key, members]) => [
    ...different(members, 'addresses', ({ router }) =>
      router.addresses
        .map(({ address }) => address)
        .sort()
        .join(' '),
    ).map((text) => `${key}: ${text}`),
    ...different(members, 'versions', ({ router }) => `version ${router.version}`).map((text) => `${key}: ${text}`),
    ...different(members, 'intervals', ({ router }) => `${router.advertisementInterval} ms`).map(
      (text) => `${key}: ${text}`,
    ),
    ...missing(key, members, nodes),
  ])
}

const keyOf = ({ addresses, vrid }: VirtualRouter): string =>
  `VRID ${vrid} (${addresses.some(({ address }) => familyOf(address) === 'ipv6') ? 'IPv6' : 'IPv4'})`

function different(members: readonly Member[], what: string, of: (member: Member) => string): readonly string[] {
  const values = new Map<string, string[]>()
  for (const member of members) values.set(of(member), [...(values.get(of(member)) ?? []), member.node])
  if (values.size < 2) return []
  return [`${what} differ: ${[...values].map(([value, who]) => `${who.join(', ')} has ${value}`).join('; ')}`]
}

/** Returns a sentence if only one node has the virtual router, because then no other node can take over. */
function missing(key: string, members: readonly Member[], nodes: Play['nodes']): readonly string[] {
  const [only, second] = members
  if (only === undefined || second !== undefined || nodes.length === 1) return []
  return [`${key}: ${only.node} alone has it, so no other node can take over`]
}
