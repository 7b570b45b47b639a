/**
 * Finds the nodes of a cluster that are peers: which may have the API's address, and their address in each family. The
 * last good address of a node is kept until the node is deleted or has another address. A peer that is left out of the
 * list receives no advertisements and becomes Active, so leaving a peer out is never safe. The list of peers can be
 * stored for a start without the API.
 */
import { z } from 'zod'
import { type Address, type Family, parseAddress } from '../../../wire/address.ts'
import type { ClusterNode } from '../cluster-node.ts'
import { type PeerWishes, peerAddress } from './peer-address.ts'
import { isControlPlane } from './upstream-names.ts'
import type { Service } from './vrid.ts'

export type PeerNode = {
  readonly name: string
  /** True if the node is a control plane node, which may hold the API's VIP. */
  readonly controlPlane: boolean
  /** For each address family of the VIPs, the node's address in that family. */
  readonly addresses: Readonly<Partial<Record<Family, Address>>>
}

/** A warning about one node. */
export type Oddity = { readonly node: string; readonly what: string }

/** Returns the peers, with warnings. `earlier` has the peers of the last call. */
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
      controlPlane: isControlPlane(node.labels),
      addresses: Object.fromEntries(addresses),
    }
  })
  return { peers: peers.toSorted((one, other) => byText(one.name, other.name)), odd }
}

/** Returns the nodes that may have the address of a service. */
export const groupOf = (peers: readonly PeerNode[], service: Service): readonly PeerNode[] =>
  service === 'api' ? peers.filter(({ controlPlane }) => controlPlane) : peers

/** Returns the addresses of one family, each once, sorted as text, as OpenShift lists them. */
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

/** Reads stored peers from parsed JSON; `undefined` if the value has another format. */
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
