/**
 * How a router sends its advertisements: the keys of `transport`, and the source address. This file knows nothing about
 * contradictions with other keys (contradiction.ts), and the addresses of the node.
 */
import * as z from 'zod'
import type { Address } from '../../wire/address.ts'
import { host, list, section, whole } from './field.ts'

export const PEERS_EXPECTED = 'a list of peers'
const peerKeys = {
  address: host().describe('Address of the peer'),
  priority: whole(1, 255).optional().describe('Base priority of the peer, which makes the stagger exact'),
}
const ttlKeys = {
  minTtl: whole(0, 255)
    .optional()
    .describe('Smallest TTL or hop limit that is accepted in advertisements of this peer'),
  maxTtl: whole(0, 255).optional().describe('Largest TTL or hop limit that is accepted in advertisements of this peer'),
}
type PeerKeys = { address: Address } & { [key in 'priority' | 'minTtl' | 'maxTtl']?: number | undefined }

const asPeer = ({ address, priority, minTtl, maxTtl }: PeerKeys) => ({ address, priority, minTtl, maxTtl })
const alone = () => host().transform((address): PeerKeys => ({ address }))
const error = 'an address or { address, priority }'
const accepted = 'a mapping with address and priority'
/** Returns the schema of a multicast peer. Multicast always requires TTL 255, so only unicast peers have a range. */
export const hint = () => z.union([alone(), section(peerKeys, accepted)], { error }).transform(asPeer)
const peer = () => z.union([alone(), section({ ...peerKeys, ...ttlKeys }, accepted)], { error }).transform(asPeer)
export type ConfiguredPeer = z.output<ReturnType<typeof peer>>

const source = (auto: string) =>
  z
    .union([z.literal('auto'), host()], { error: 'auto or an IP address' })
    .default('auto')
    .describe(`Source of our advertisements; auto: ${auto}`)

const unicast = section(
  {
    source: source(
      'the address of the interface in the network of the VIP, or its link-local address where the peers have such',
    ),
    peers: list(peer(), PEERS_EXPECTED).describe(
      'Addresses of the other routers; the address of this node may be in the list and is skipped',
    ),
    ttl: whole(1, 255).default(255).describe('TTL or hop limit of our advertisements'),
  },
  ({ input }) => (Array.isArray(input) ? peersHint(input) : 'a mapping with peers'),
)

/** Returns the mapping that was probably meant by a list of peers. */
function peersHint(list: readonly unknown[]): string {
  const known = list.filter((each) => typeof each === 'string').slice(0, 2)
  const peers = known.length === 0 ? ['10.0.0.11', '10.0.0.12'] : known
  return `unicast: { peers: [${peers.join(', ')}${list.length > peers.length ? ', ...' : ''}] }`
}

const multicast = section(
  { source: source('the address of the interface in the network of the VIP, for IPv6 its link-local one') },
  'a mapping with source',
)

export type UnicastKeys = z.output<typeof unicast>
export type TransportKeys = 'multicast' | { multicast: z.output<typeof multicast> } | { unicast: UnicastKeys }

const EXPECTED = 'a mapping with unicast'
const mapping = section(
  {
    unicast: unicast.optional().describe('Send advertisements to each peer instead of to the multicast group'),
    multicast: multicast.optional().describe('Send advertisements to the multicast group from a certain source'),
  },
  EXPECTED,
).transform(({ unicast, multicast }, context): TransportKeys => {
  if (unicast !== undefined && multicast === undefined) return { unicast }
  if (multicast !== undefined && unicast === undefined) return { multicast }
  const message = unicast === undefined ? 'unicast or multicast' : 'either unicast or multicast'
  context.issues.push({ code: 'custom', message, input: unicast })
  return 'multicast'
})

export const transportSchema = z.union([z.literal('multicast'), mapping], {
  error: 'multicast or { unicast: { peers: [...] } }',
})

type Transported = { readonly transport: TransportKeys }

/** Returns the keys of `unicast` of a router; `undefined` if the router uses multicast. */
export const unicastOf = ({ transport }: Transported): UnicastKeys | undefined =>
  typeof transport === 'object' && 'unicast' in transport ? transport.unicast : undefined

export function sourceOf({ transport }: Transported): Address | 'auto' {
  if (transport === 'multicast') return 'auto'
  return 'unicast' in transport ? transport.unicast.source : transport.multicast.source
}

export const sourcePath = (router: Transported) =>
  ['transport', unicastOf(router) === undefined ? 'multicast' : 'unicast', 'source'] as const
