/** Builds Node objects of the Kubernetes API for tests, with the fields that the code under test reads. */
import type { KubeObject } from './store.ts'

export const NODES = 'v1/nodes'

export type NodePlan = {
  readonly name: string
  readonly addresses?: readonly string[]
  /** Role names of the node, as in the labels `node-role.kubernetes.io/ROLE`. */
  readonly roles?: readonly string[]
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly kubeletVersion?: string
  readonly phase?: string
}

export function nodeObject(plan: NodePlan): KubeObject {
  const { name, addresses = [], roles = ['master'], kubeletVersion = 'v1.30.4', phase } = plan
  const labels = Object.fromEntries(roles.map((role) => [`node-role.kubernetes.io/${role}`, '']))
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: { 'kubernetes.io/hostname': name, ...labels, ...plan.labels },
      annotations: { ...plan.annotations },
    },
    spec: {},
    status: {
      ...(phase === undefined ? {} : { phase }),
      addresses: [
        ...addresses.map((address) => ({ type: 'InternalIP', address })),
        { type: 'Hostname', address: name },
      ],
      nodeInfo: { kubeletVersion },
    },
  }
}
