/** Reads links, addresses and routes of this node from the kernel, as the choice of the node's address needs them. */
import { messageOf } from '../base/message-of.ts'
import type { Machine } from '../cluster/decisions/engine/desired-state.ts'
import type { NodeView } from '../cluster/decisions/node-ip/selection.ts'
import { machineWith } from '../cluster/runtime/machine.ts'
import { openClock } from '../linux/clock.ts'
import { loadNative } from '../linux/native.ts'
import { openRequestSocket } from '../linux/netlink/socket.ts'
import { readAddresses, readLinks, readRoutes } from '../linux/tables.ts'
import type { Address } from '../wire/address.ts'

/**
 * The kernel's tables of this node. `tentative`: addresses that cannot be bound yet, because duplicate address
 * detection still runs.
 */
export type NodeTables = { readonly view: NodeView; readonly tentative: readonly Address[] }

/**
 * Returns the kernel's tables. `undefined` if the kernel gave no complete answer, because the tables changed faster
 * than they could be read.
 */
export function readNodeTables(): NodeTables | undefined {
  const native = loadNative()
  const requests = openRequestSocket(native, openClock(native))
  try {
    const [links, addresses, routes] = [readLinks(requests), readAddresses(requests), readRoutes(requests)]
    if (links === undefined || addresses === undefined || routes === undefined) return undefined
    const nameOf = new Map(links.map(({ index, name }) => [index, name]))
    return {
      view: {
        links: links.map(({ index, name }) => ({
          index,
          name,
          addresses: addresses
            .filter(({ interfaceIndex }) => interfaceIndex === index)
            .map(({ address, prefixLength, deprecated = false, label = '' }) => ({
              address,
              prefixLength,
              deprecated,
              label,
            })),
        })),
        routes: routes.flatMap(({ interfaceIndex, destination, gateway, metric, fromRouter }) => {
          const link = nameOf.get(interfaceIndex)
          return link === undefined ? [] : [{ link, destination, gateway, metric, fromRouter }]
        }),
      },
      tentative: addresses.filter(({ tentative }) => tentative).map(({ address }) => address),
    }
  } finally {
    requests.close()
  }
}

/** Returns this machine for decisions about the cluster, or the reason why it cannot be read. */
export function machineNow(): Machine | string {
  try {
    const tables = readNodeTables()
    return tables === undefined ? 'the kernel gave no complete answer' : machineWith(tables.view)
  } catch (error) {
    return messageOf(error)
  }
}
