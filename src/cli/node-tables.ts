/** This node as the choice of its address looks at it: links, their addresses and the routes, out of the kernel's tables. */
import type { NodeView } from '../cluster/decisions/node-ip/selection.ts'
import { openClock } from '../linux/clock.ts'
import { loadNative } from '../linux/native.ts'
import { openRequestSocket } from '../linux/netlink/socket.ts'
import { readAddresses, readLinks, readRoutes } from '../linux/tables.ts'
import type { Address } from '../wire/address.ts'

/** `tentative`: nothing can be bound to these yet, duplicate address detection still runs. */
export type NodeTables = { readonly view: NodeView; readonly tentative: readonly Address[] }

/** Undefined when the kernel gave no complete answer; the tables change faster than they can be read. */
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
