/**
 * The peers that were in force last, for a start without the API. Decided here: where they are, and that what is there and
 * makes no sense is told and otherwise nothing.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../../base/message-of.ts'
import { type PeerNode, readPeers } from '../decisions/engine/peers.ts'
import { replaceFile } from './fact-file.ts'

export const PEERS_FILE = 'peers.json'
const VERSION = 1

/** Undefined: nothing was ever written down. A string says what is wrong with what is there. */
export function rememberedPeers(directory: string): readonly PeerNode[] | string | undefined {
  const file = join(directory, PEERS_FILE)
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'))
    const isOurs = typeof value === 'object' && value !== null && 'version' in value && value.version === VERSION
    const peers = isOurs && 'peers' in value ? readPeers(value.peers) : undefined
    return peers ?? `Cannot use ${file}: it is not what an agent of this version writes down`
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    return `Cannot use ${file}: ${messageOf(error)}`
  }
}

/** Throws what the file system says; what was there stands then. */
export function rememberPeers(directory: string, peers: readonly PeerNode[]): void {
  replaceFile(join(directory, PEERS_FILE), `${JSON.stringify({ version: VERSION, peers }, null, 2)}\n`)
}
