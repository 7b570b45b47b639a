/** Which nodes count as control plane nodes: OpenShift sets two labels, kubeadm one. */
import { expect, test } from 'vitest'
import { groupOf, peerNodes } from '../../../src/cluster/decisions/engine/peers.ts'
import { readNode } from '../../../src/cluster/decisions/node-object.ts'
import { ownRole } from '../../../src/cluster/runtime/own-role.ts'
import { nodeObject } from '../../support/kube-api/node-object.ts'

const OBJECTS = [
  nodeObject({ name: 'both', roles: ['master', 'control-plane'] }),
  nodeObject({ name: 'kubeadm', roles: ['control-plane'] }),
  nodeObject({ name: 'older', roles: ['master'] }),
  nodeObject({ name: 'worker', roles: ['worker'] }),
]

test('a node with either label of the control plane is a peer of the API, and has that role', () => {
  const nodes = OBJECTS.flatMap((object) => readNode(object).node ?? [])
  const { peers } = peerNodes(nodes, [], [])
  expect(groupOf(peers, 'api').map(({ name }) => name)).toEqual(['both', 'kubeadm', 'older'])
  expect(['both', 'kubeadm', 'older', 'worker'].map((name) => ownRole(name, OBJECTS))).toEqual([
    ...['controlPlane', 'controlPlane', 'controlPlane', 'worker'],
  ])
})
