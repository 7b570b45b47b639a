/** Reads this machine for cluster/decisions: its interfaces, and the files of node-ip. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Machine } from '../decisions/engine/desired-state.ts'
import { ADDRESS_FILES } from '../decisions/engine/vrrp-interface.ts'
import type { NodeView } from '../decisions/node-ip/selection.ts'

/**
 * `node-ip set` writes this file on a worker that is not in the LAN of the VIPs. On such a node no program may use
 * VRRP.
 */
export const REMOTE_WORKER = '/run/nodeip-configuration/remote-worker'

/**
 * Returns the reason in the file that marks a remote worker; `undefined` without the file. Throws if the file cannot be
 * read, because the agent must not start in that case.
 */
export function remoteWorker(root = '/'): string | undefined {
  try {
    return readFileSync(join(root, REMOTE_WORKER), 'utf8').trim() || 'the file is empty'
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

/** Returns the text of a file; `undefined` if it cannot be read. */
export function textIn(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

export const machineWith = (node: NodeView): Machine => ({
  node,
  files: { ipv4: textIn(ADDRESS_FILES.ipv4), ipv6: textIn(ADDRESS_FILES.ipv6) },
  remoteWorker: remoteWorker() !== undefined,
})
