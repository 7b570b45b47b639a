/**
 * Reads this node for the check of a configuration: interfaces and addresses from the kernel's tables, and the contents
 * of the address files that the configuration names.
 */

import type { Config } from '../../config/config.ts'
import type { NodeView } from '../../config/node-view.ts'
import type { NetworkPort } from '../../daemon/ports.ts'
import { addressFilesOf } from '../../files/address-file.ts'
import { openClock } from '../../linux/clock.ts'
import { loadNative } from '../../linux/native.ts'
import { openNetwork } from '../../linux/network.ts'

type Named = Pick<Config, 'virtualRouters'>
const NO_ROUTERS: Named = { virtualRouters: [] }

export function nodeView(network: Pick<NetworkPort, 'links' | 'addresses'>, config: Named = NO_ROUTERS): NodeView {
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

type Tables = Pick<NetworkPort, 'links' | 'addresses'>

export type Look = {
  /** Links and addresses of this node, as the kernel reported them. */
  readonly tables: Tables
  /**
   * Answers the first query for links and the first query for addresses with `tables`, later queries from the kernel.
   */
  readonly network: NetworkPort
  /** True if the kernel gave complete lists of links and addresses. */
  readonly isComplete: boolean
}

/** Reads the kernel's tables once, for checking a configuration and for the engine that starts with it. */
export function lookOnce(port: NetworkPort): Look {
  const [links, addresses] = [port.links(), port.addresses()]
  let [firstLinks, firstAddresses] = [links, addresses]
  const network: NetworkPort = {
    apply: (steps, nameOf) => port.apply(steps, nameOf),
    settle: (interfaceIndex) => port.settle(interfaceIndex),
    watch: (deliver) => port.watch(deliver),
    drain: () => port.drain(),
    close: () => port.close(),
    links() {
      const known = firstLinks
      firstLinks = undefined
      return known ?? port.links()
    },
    addresses() {
      const known = firstAddresses
      firstAddresses = undefined
      return known ?? port.addresses()
    },
  }
  const tables = { links: () => links, addresses: () => addresses }
  return { tables, network, isComplete: links !== undefined && addresses !== undefined }
}

/** Reads the kernel's tables of this network namespace once. Throws Error if the kernel refuses. */
export function nodeHere(): NodeView {
  const native = loadNative()
  const network = openNetwork(native, openClock(native))
  try {
    return nodeView(network)
  } finally {
    network.close()
  }
}
