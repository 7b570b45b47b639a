/**
 * Reads facts for `holdfast explain` and `holdfast status` from the configuration file of this node: names of routers
 * and groups, listed peers, and the API of other nodes (`api.peers`). The event journal names the file, so the engine
 * need not run. No other host is contacted.
 */
import { networkInterfaces } from 'node:os'
import { unicastOf } from '../../config/schema/transport.ts'
import type { JournalEvent } from '../../events/event.ts'
import type { ListedPeers } from '../../explain/timeline.ts'
import { readText } from '../../files/configuration-file.ts'
import { loadAny, looksLikeKeepalived } from '../../files/configuration-language.ts'

export type NodeConfiguration = {
  /** Names of all virtual routers and sync groups in the configuration. */
  readonly names: readonly string[]
  readonly listed: ListedPeers
  /** URLs in the configuration key `api.peers`, without that of this node. */
  readonly peers: readonly string[]
}

/**
 * Returns the configuration whose file the journal names. An error text: the file cannot be used. `undefined`: the
 * journal names no file.
 */
export function configurationOf(events: readonly JournalEvent[]): NodeConfiguration | string | undefined {
  const file = events.findLast((event) => event.kind === 'started')?.config
  return file === undefined ? undefined : configurationAt(file)
}

/** Returns the configuration in the file, or an error text if the file cannot be used. */
export function configurationAt(file: string): NodeConfiguration | string {
  const loaded = loadAny(file, isKeepalived(file) ? { configId: undefined, allFiles: false } : undefined)
  if ('problems' in loaded)
    return `Cannot use the configuration ${file} (${loaded.problems[0]?.message ?? 'unknown'}): the nodes of api.peers are not asked, and listed peers are not known`
  const { api, syncGroups, virtualRouters } = loaded.config
  const addressesOf = (router: (typeof virtualRouters)[number]) =>
    new Set<string>((unicastOf(router)?.peers ?? router.peers ?? []).map(({ address }) => address))
  return {
    names: [...virtualRouters, ...syncGroups].map(({ name }) => name),
    listed: new Map(virtualRouters.map((router) => [router.name, addressesOf(router)])),
    peers: api.peers.filter((url) => !isHere(url)),
  }
}

function isKeepalived(file: string): boolean {
  try {
    return looksLikeKeepalived(readText(file))
  } catch {
    return false
  }
}

function isHere(url: string): boolean {
  const host = new URL(url).hostname.replace(/^\[(.*)\]$/, '$1')
  return Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ address }) => address === host))
}
