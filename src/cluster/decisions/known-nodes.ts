/**
 * Keeps the list of nodes up to date with the events of a watch. This file decides which input is ignored: an object
 * without a usable name, a node before the first list, and a cluster without nodes. The reader runs on a node itself.
 */
import type { ClusterNode } from './cluster-node.ts'
import { type Malformed, readNode } from './node-object.ts'

/** Events of a watch that name nodes. Every `node` is a Node object of Kubernetes, as parsed JSON that was not checked. */
export type NodeEvent =
  | { readonly kind: 'nodesListed'; readonly nodes: readonly unknown[] }
  | { readonly kind: 'nodeChanged'; readonly node: unknown }
  | { readonly kind: 'nodeGone'; readonly node: unknown }

export type KnownNodes = {
  /** Nodes of the cluster; `undefined` before the first list. */
  readonly nodes: readonly ClusterNode[] | undefined
  readonly malformed: readonly Malformed[]
  /** Reason why the event was ignored as a whole; `undefined` if the event told something about the nodes. */
  readonly refused?: string
  /** True if the nodes are known after the event as the API has them. */
  readonly isCurrent: boolean
}

/** Returns the nodes after an event. `mayBeEmpty`: the reader runs on a bootstrap node, which is no node of the list. */
export function nodesAfter(
  nodes: readonly ClusterNode[] | undefined,
  event: NodeEvent,
  mayBeEmpty = false,
): KnownNodes {
  if (event.kind === 'nodesListed') return listed(nodes, event.nodes, mayBeEmpty)
  return event.kind === 'nodeChanged' ? changed(nodes, event.node) : gone(nodes, event.node, mayBeEmpty)
}

function listed(
  before: readonly ClusterNode[] | undefined,
  objects: readonly unknown[],
  mayBeEmpty: boolean,
): KnownNodes {
  const readings = objects.map((object) => readNode(object, known(before, object)))
  const nodes = readings.flatMap(({ node }) => node ?? [])
  if (nodes.length === 0 && !mayBeEmpty)
    return {
      nodes: before,
      malformed: [],
      refused: `none of the ${objects.length} listed objects is a node`,
      isCurrent: false,
    }
  return { nodes, malformed: readings.flatMap(({ malformed }) => malformed), isCurrent: true }
}

function changed(before: readonly ClusterNode[] | undefined, object: unknown): KnownNodes {
  const { node, malformed } = readNode(object, known(before, object))
  // Before the first list, a single node would look like the whole cluster.
  if (node === undefined || before === undefined) return { nodes: before, malformed, isCurrent: false }
  const isKnown = before.some(({ name }) => name === node.name)
  const nodes = isKnown ? before.map((each) => (each.name === node.name ? node : each)) : [...before, node]
  return { nodes, malformed, isCurrent: true }
}

function gone(before: readonly ClusterNode[] | undefined, object: unknown, mayBeEmpty: boolean): KnownNodes {
  const { node, malformed } = readNode(object)
  const nodes = before?.filter(({ name }) => name !== node?.name)
  if (node === undefined || nodes === undefined) return { nodes: before, malformed, isCurrent: false }
  if (nodes.length === 0 && !mayBeEmpty)
    return {
      nodes: before,
      malformed: [],
      refused: `the last node, ${node.name}, was reported as deleted`,
      isCurrent: false,
    }
  return { nodes, malformed: [], isCurrent: true }
}

function known(nodes: readonly ClusterNode[] | undefined, object: unknown): ClusterNode | undefined {
  const name = readNode(object).node?.name
  return nodes?.find((each) => each.name === name)
}
