/**
 * How a router talks to the others: the keys of `transport`, and what they say of the source. This file does not know
 * what another key means for them (contradiction.ts), nor which addresses the node has.
 */
import * as z from 'zod'
import type { Address } from '../../wire/address.ts'
import { host, list, section, whole } from './field.ts'

export const PEERS_WANTED = 'a list of peers wanted'
const peerKeys = {
  address: host().describe('Address of the peer'),
  priority: whole(1, 255).optional().describe('Its base priority, which makes the stagger exact'),
}
const ttlKeys = {
  minTtl: whole(0, 255).optional().describe('Least TTL or hop limit with which its advertisements may arrive'),
  maxTtl: whole(0, 255).optional().describe('Greatest TTL or hop limit with which its advertisements may arrive'),
}
type PeerKeys = { address: Address } & { [key in 'priority' | 'minTtl' | 'maxTtl']?: number | undefined }

const asPeer = ({ address, priority, minTtl, maxTtl }: PeerKeys) => ({ address, priority, minTtl, maxTtl })
const alone = () => host().transform((address): PeerKeys => ({ address }))
const error = 'an address or { address, priority } wanted'
const wanted = 'a mapping with address and priority wanted'
/** Multicast always wants TTL 255, so only unicast peers have a range. */
export const hint = () => z.union([alone(), section(peerKeys, wanted)], { error }).transform(asPeer)
const peer = () => z.union([alone(), section({ ...peerKeys, ...ttlKeys }, wanted)], { error }).transform(asPeer)
export type ConfiguredPeer = z.output<ReturnType<typeof peer>>

const source = (auto: string) =>
  z
    .union([z.literal('auto'), host()], { error: 'auto or an IP address wanted' })
    .default('auto')
    .describe(`Source of our advertisements; auto: ${auto}`)

const unicast = section(
  {
    source: source(
      'the address of the interface in the network of the VIP, or its link-local address where the peers have such',
    ),
    peers: list(peer(), PEERS_WANTED).describe(
      'The other routers; the address of this node may be among them and is skipped',
    ),
    ttl: whole(1, 255).default(255).describe('TTL or hop limit of our advertisements'),
  },
  ({ input }) => (Array.isArray(input) ? `write ${peersHint(input)}` : 'a mapping with peers wanted'),
)

/** What a list in the place of the mapping was meant as. */
function peersHint(list: readonly unknown[]): string {
  const known = list.filter((each) => typeof each === 'string').slice(0, 2)
  const peers = known.length === 0 ? ['10.0.0.11', '10.0.0.12'] : known
  return `unicast: { peers: [${peers.join(', ')}${list.length > peers.length ? ', ...' : ''}] }`
}

const multicast = section(
  { source: source('the address of the interface in the network of the VIP, for IPv6 its link-local one') },
  'a mapping with source wanted',
)

export type UnicastKeys = z.output<typeof unicast>
export type TransportKeys = 'multicast' | { multicast: z.output<typeof multicast> } | { unicast: UnicastKeys }

const WANTED = 'a mapping with unicast wanted'
const mapping = section(
  {
    unicast: unicast.optional().describe('Advertise to each peer instead of to the group'),
    multicast: multicast.optional().describe('Advertise to the group from a certain source'),
  },
  WANTED,
).transform(({ unicast, multicast }, context): TransportKeys => {
  if (unicast !== undefined && multicast === undefined) return { unicast }
  if (multicast !== undefined && unicast === undefined) return { multicast }
  const message = unicast === undefined ? 'unicast or multicast wanted' : 'either unicast or multicast wanted'
  context.issues.push({ code: 'custom', message, input: unicast })
  return 'multicast'
})

export const transportSchema = z.union([z.literal('multicast'), mapping], {
  error: 'multicast or { unicast: { peers: [...] } } wanted',
})

type Transported = { readonly transport: TransportKeys }

/** Undefined: multicast is written. */
export const unicastOf = ({ transport }: Transported): UnicastKeys | undefined =>
  typeof transport === 'object' && 'unicast' in transport ? transport.unicast : undefined

export function sourceOf({ transport }: Transported): Address | 'auto' {
  if (transport === 'multicast') return 'auto'
  return 'unicast' in transport ? transport.unicast.source : transport.multicast.source
}

export const sourcePath = (router: Transported) =>
  ['transport', unicastOf(router) === undefined ? 'multicast' : 'unicast', 'source'] as const
