/**
 * The nodes of a cluster as peers: who may have the API's address, and under which address each is reached in each family.
 * The last good address of a node stands until the node is gone or has another: a peer that is left out hears no
 * advertisements and becomes Active beside us, so leaving one out is never the safe answer. A value that can be written down
 * and is all that a start without the API needs.
 */
import { z } from 'zod'
import { type Address, type Family, parseAddress } from '../../../wire/address.ts'
import type { ClusterNode } from '../cluster-node.ts'
import { type PeerWishes, peerAddress } from './peer-address.ts'
import { CONTROL_PLANE_LABEL } from './upstream-words.ts'
import type { Service } from './vrid.ts'

export type PeerNode = {
  readonly name: string
  /** May have the API's address. */
  readonly controlPlane: boolean
  /** Of the families that the VIPs have. */
  readonly addresses: Readonly<Partial<Record<Family, Address>>>
}

/** Something about one node that somebody should know, in words. */
export type Oddity = { readonly node: string; readonly what: string }

export function peerNodes(
  nodes: readonly ClusterNode[],
  wishes: readonly PeerWishes[],
  earlier: readonly PeerNode[],
): { readonly peers: readonly PeerNode[]; readonly odd: readonly Oddity[] } {
  const odd: Oddity[] = []
  const peers = nodes.map((node) => {
    const known = earlier.find(({ name }) => name === node.name)
    const addresses = wishes.flatMap((wish): [Family, Address][] => {
      const found = peerAddress(node, wish)
      odd.push(...found.odd.map((what) => ({ node: node.name, what })))
      const kept = known?.addresses[wish.family]
      const address = found.address ?? (kept !== undefined && !wish.vips.includes(kept) ? kept : undefined)
      return address === undefined ? [] : [[wish.family, address]]
    })
    return {
      name: node.name,
      controlPlane: node.labels[CONTROL_PLANE_LABEL] !== undefined,
      addresses: Object.fromEntries(addresses),
    }
  })
  return { peers: peers.toSorted((one, other) => byText(one.name, other.name)), odd }
}

/** Who may have the address of this service. */
export const groupOf = (peers: readonly PeerNode[], service: Service): readonly PeerNode[] =>
  service === 'api' ? peers.filter(({ controlPlane }) => controlPlane) : peers

/** Sorted as text and each once, as upstream lists them. */
export const addressesOf = (peers: readonly PeerNode[], family: Family): readonly Address[] =>
  [...new Set(peers.flatMap(({ addresses }) => addresses[family] ?? []))].toSorted(byText)

export const byText = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

const Written = z.array(
  z.object({
    name: z.string().min(1),
    controlPlane: z.boolean(),
    addresses: z.object({ ipv4: z.string().optional(), ipv6: z.string().optional() }),
  }),
)

/** What was written down before, as JSON gave it back; undefined: it is not what we write. */
export function readPeers(value: unknown): readonly PeerNode[] | undefined {
  const { data } = Written.safeParse(value)
  return data?.map(({ name, controlPlane, addresses }) => ({
    name,
    controlPlane,
    addresses: Object.fromEntries(
      Object.entries(addresses).flatMap(([family, text]) => {
        const address = text === undefined ? undefined : parseAddress(text)
        return address === undefined ? [] : [[family, address]]
      }),
    ),
  }))
}
