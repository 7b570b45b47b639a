/**
 * This node as the configuration looks at it: interfaces and addresses out of the kernel's tables, and what the files say
 * that the configuration names.
 */

import type { Config } from '../../config/config.ts'
import type { NodeView } from '../../config/node-view.ts'
import type { NetworkPort } from '../../daemon/ports.ts'
import { addressFilesOf } from '../../files/address-file.ts'

type Named = Pick<Config, 'virtualRouters'>
const NOBODY: Named = { virtualRouters: [] }

export function nodeView(network: Pick<NetworkPort, 'links' | 'addresses'>, config: Named = NOBODY): NodeView {
  const addresses = network.addresses() ?? []
  return {
    files: addressFilesOf(config),
    interfaces: (network.links() ?? []).map(({ index, name, mtu, portOf }) => ({
      name,
      mtu,
      portOf,
      addresses: addresses.filter((present) => present.interfaceIndex === index),
    })),
  }
}
