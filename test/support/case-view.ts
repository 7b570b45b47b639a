/**
 * Converts the links and routes of a test case (cluster-cases.ts) to the form in which holdfast reads those of a
 * machine.
 */
import type { Link, NodeView, Route } from '../../src/cluster/decisions/node-ip/selection.ts'
import { type Address, address } from '../../src/wire/address.ts'
import type { CaseLink, CaseRoute } from './cluster-cases.ts'

export function network(cidr: string): { address: Address; prefixLength: number } {
  const [host = '', length] = cidr.split('/')
  return { address: address(host), prefixLength: Number(length) }
}

export type CaseMachine = { readonly links: readonly CaseLink[]; readonly routes: readonly CaseRoute[] }

export const viewOf = ({ links, routes }: CaseMachine): NodeView => ({
  links: links.map(
    ({ name, index, addrs }): Link => ({
      name,
      index,
      addresses: addrs.map(({ cidr, deprecated, label }) => ({ ...network(cidr), deprecated, label })),
    }),
  ),
  routes: routes.map(
    ({ link, dst, proto, priority, gw }): Route => ({
      link,
      destination: dst === null ? undefined : network(dst),
      fromRouter: proto === 'ra',
      metric: priority,
      gateway: gw === null ? undefined : address(gw),
    }),
  ),
})
