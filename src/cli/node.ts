/** This node as the configuration looks at it: interfaces and addresses out of the kernel's tables. */
import type { NodeView } from '../config/node-view.ts'
import type { NetworkPort } from '../daemon/ports.ts'

export function nodeView(network: Pick<NetworkPort, 'links' | 'addresses'>): NodeView {
  const addresses = network.addresses() ?? []
  return {
    interfaces: (network.links() ?? []).map(({ index, name, mtu, portOf }) => ({
      name,
      mtu,
      portOf,
      addresses: addresses.filter((present) => present.interfaceIndex === index),
    })),
  }
}
