/** The nodes of the cluster as the agent stores them for the monitors of its node: names and addresses of all types. Pure. */
import { z } from 'zod'
import type { ClusterNode } from './cluster-node.ts'

export type StoredNode = Pick<ClusterNode, 'name' | 'addresses'>

const Written = z.array(
  z.object({ name: z.string().min(1), addresses: z.array(z.object({ type: z.string(), address: z.string() })) }),
)

/** Reads stored nodes from parsed JSON; `undefined` if the value has another format. */
export const readNodes = (value: unknown): readonly StoredNode[] | undefined => Written.safeParse(value).data

/** Returns the fields that are stored, sorted by name, so that the same nodes make the same text. */
export const storedNodes = (nodes: readonly StoredNode[]): readonly StoredNode[] =>
  nodes
    .map(({ name, addresses }) => ({ name, addresses: addresses.map(({ type, address }) => ({ type, address })) }))
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
