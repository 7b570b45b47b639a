/**
 * Gets the nodes of a cluster once: from a NodeList in a file, from the stored peers, or from the API. No function
 * throws: a source without nodes gives the reason.
 */

import { readFileSync } from 'node:fs'
import { messageOf } from '../../../base/message-of.ts'
import type { PeerNode } from '../../decisions/engine/peers.ts'
import { rememberedPeers } from '../peer-memory.ts'
import type { ClusterClient } from './cluster-client.ts'

export type FoundNodes =
  | { readonly nodes: readonly unknown[] }
  | { readonly peers: readonly PeerNode[] }
  | { readonly missing: string }
export type NodeSource = () => Promise<FoundNodes>

const NODES_PATH = '/api/v1/nodes'

/** Returns a source of nodes that reads a file. */
export const nodesIn =
  (file: string): NodeSource =>
  async () => {
    const list = read(file)
    if ('missing' in list) return list
    return itemsOf(list.value, file)
  }

/** Returns a source of nodes that reads the stored peers. */
export const rememberedIn =
  (stateDirectory: string): NodeSource =>
  async () => {
    const peers = rememberedPeers(stateDirectory)
    if (peers === undefined) return { missing: `No peers are stored in ${stateDirectory}` }
    return typeof peers === 'string' ? { missing: peers } : { peers }
  }

function read(file: string): { value: unknown } | { missing: string } {
  try {
    return { value: JSON.parse(readFileSync(file, 'utf8')) }
  } catch (error) {
    return { missing: `Cannot read ${file}: ${messageOf(error)}` }
  }
}

/**
 * Returns a source of nodes that asks the API. If the API does not answer, `tell` gets the reason, and the second
 * source is used.
 */
export const nodesAt =
  (client: Pick<ClusterClient, 'ask'>, otherwise: NodeSource, tell: (reason: string) => void): NodeSource =>
  async () => {
    try {
      return itemsOf(await client.ask({ path: NODES_PATH }), 'the answer of the API')
    } catch (error) {
      tell(messageOf(error))
      return otherwise()
    }
  }

function itemsOf(list: unknown, where: string): FoundNodes {
  const items: unknown = typeof list === 'object' && list !== null ? Reflect.get(list, 'items') : undefined
  return Array.isArray(items)
    ? { nodes: items }
    : { missing: `Cannot use ${where}: it is not a NodeList (it has no items)` }
}
