/**
 * Stores the peers in force, for a start without the API. This file decides the file. An invalid file is reported and
 * otherwise ignored.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../../base/message-of.ts'
import { type PeerNode, readPeers } from '../decisions/engine/peers.ts'
import { replaceFile } from './fact-file.ts'

export const PEERS_FILE = 'peers.json'
const VERSION = 1

/**
 * Returns the peers that an earlier run stored; `undefined` without a file, or an error text if the file is invalid.
 */
export function rememberedPeers(directory: string): readonly PeerNode[] | string | undefined {
  const file = join(directory, PEERS_FILE)
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'))
    const isOurs = typeof value === 'object' && value !== null && 'version' in value && value.version === VERSION
    const peers = isOurs && 'peers' in value ? readPeers(value.peers) : undefined
    return peers ?? `Cannot use ${file}: this version of the agent did not write it`
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    return `Cannot use ${file}: ${messageOf(error)}`
  }
}

/** Stores the peers. Throws the error of the file system; in that case the old file stays. */
export function rememberPeers(directory: string, peers: readonly PeerNode[]): void {
  replaceFile(join(directory, PEERS_FILE), `${JSON.stringify({ version: VERSION, peers }, null, 2)}\n`)
}
