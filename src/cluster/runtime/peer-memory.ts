/**
 * Stores what the agent knows of the nodes: the peers in force, for a start without the API, and the nodes of the cluster, for the
 * monitors of this node. This file decides the files. An invalid file is reported and otherwise ignored.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../../base/message-of.ts'
import { type PeerNode, readPeers } from '../decisions/engine/peers.ts'
import { readNodes, type StoredNode, storedNodes } from '../decisions/stored-nodes.ts'
import { replaceFile } from './fact-file.ts'

export const PEERS_FILE = 'peers.json'
export const NODES_FILE = 'nodes.json'
const VERSION = 1

/**
 * Returns the peers that an earlier run stored; `undefined` without a file, or an error text if the file is invalid.
 */
export const rememberedPeers = (directory: string): readonly PeerNode[] | string | undefined =>
  remembered(join(directory, PEERS_FILE), (fields) => readPeers(fields.peers))

/** Stores the peers. Throws the error of the file system; in that case the old file stays. */
export function rememberPeers(directory: string, peers: readonly PeerNode[]): void {
  replaceFile(join(directory, PEERS_FILE), textOf({ peers }))
}

/** Returns the nodes that the agent stored; `undefined` without a file, or an error text if the file is invalid. */
export const rememberedNodes = (directory: string): readonly StoredNode[] | string | undefined =>
  remembered(join(directory, NODES_FILE), (fields) => readNodes(fields.nodes))

/** Stores the nodes of the cluster if their names or addresses have changed. */
export class NodeMemory {
  readonly #file: string
  readonly #onFailure: (reason: string) => void
  #stored = ''

  constructor(directory: string, onFailure: (reason: string) => void) {
    this.#file = join(directory, NODES_FILE)
    this.#onFailure = onFailure
  }

  store(nodes: readonly StoredNode[]): void {
    const text = textOf({ nodes: storedNodes(nodes) })
    if (text === this.#stored) return
    try {
      replaceFile(this.#file, text)
      this.#stored = text
    } catch (error) {
      this.#onFailure(messageOf(error))
    }
  }
}

const textOf = (fields: object): string => `${JSON.stringify({ version: VERSION, ...fields }, null, 2)}\n`

function remembered<T>(file: string, read: (fields: Readonly<Record<string, unknown>>) => T | undefined) {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'))
    const isOurs = typeof value === 'object' && value !== null && 'version' in value && value.version === VERSION
    const found = isOurs ? read({ ...value }) : undefined
    return found ?? `Cannot use ${file}: this version of the agent did not write it`
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    return `Cannot use ${file}: ${messageOf(error)}`
  }
}
