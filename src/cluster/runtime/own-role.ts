/**
 * Finds the role of this node in its cluster. The Node object with the name of this node counts; if there is none, the
 * Node object with the address of this node counts. `undefined` if the cluster has no such Node.
 */
import type { Role } from '../decisions/engine/desired.ts'
import { type PeerNode, readPeers } from '../decisions/engine/peers.ts'
import { isControlPlane } from '../decisions/engine/upstream-names.ts'
import type { NodeView } from '../decisions/node-ip/selection.ts'
import { readNode } from '../decisions/node-object.ts'

/** Returns the role of this node. `nodes` are parsed JSON, or stored peers. */
export function ownRole(
  nodeName: string,
  nodes: readonly unknown[] | readonly PeerNode[] | undefined,
  machine?: NodeView,
): Role | undefined {
  const remembered = readPeers(nodes)
  const all = remembered?.map(({ name, controlPlane }) => ({ name, controlPlane, addresses: [] })) ?? read(nodes ?? [])
  const own = new Set<string>(machine?.links.flatMap(({ addresses }) => addresses.map(({ address }) => address)) ?? [])
  const found =
    all.find(({ name }) => name === nodeName) ?? all.find(({ addresses }) => addresses.some((a) => own.has(a)))
  return found === undefined ? undefined : found.controlPlane ? 'controlPlane' : 'worker'
}

const read = (objects: readonly unknown[]) =>
  objects.flatMap((object) => {
    const { node } = readNode(object)
    if (node === undefined) return []
    const addresses = node.addresses.filter(({ type }) => type === 'InternalIP').map(({ address }) => address)
    return [{ name: node.name, controlPlane: isControlPlane(node.labels), addresses }]
  })
