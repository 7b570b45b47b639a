/**
 * Where the nodes of a cluster come from for one look: a NodeList in a file, what was remembered of them, or the API, which
 * is asked once. Never throws: a source that has nothing says why.
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

export const nodesIn =
  (file: string): NodeSource =>
  async () => {
    const list = read(file)
    if ('missing' in list) return list
    return itemsOf(list.value, file)
  }

export const rememberedIn =
  (stateDirectory: string): NodeSource =>
  async () => {
    const peers = rememberedPeers(stateDirectory)
    if (peers === undefined) return { missing: `Nothing is remembered in ${stateDirectory}` }
    return typeof peers === 'string' ? { missing: peers } : { peers }
  }

function read(file: string): { value: unknown } | { missing: string } {
  try {
    return { value: JSON.parse(readFileSync(file, 'utf8')) }
  } catch (error) {
    return { missing: `Cannot read ${file}: ${messageOf(error)}` }
  }
}

/** The API; where it does not answer, what another source has, and the reason. */
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
    : { missing: `Cannot use ${where}: it is no NodeList (it has no items)` }
}
