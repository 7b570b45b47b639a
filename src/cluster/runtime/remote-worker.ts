/** Whether this node is a worker on another LAN than the VIPs: `node-ip set` says so, and nothing here may speak VRRP then. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export const REMOTE_WORKER = '/run/nodeip-configuration/remote-worker'

/** Why, in the words of the file; undefined: it is not there. Throws when that cannot be known: then nothing may start. */
export function remoteWorker(root = '/'): string | undefined {
  try {
    return readFileSync(join(root, REMOTE_WORKER), 'utf8').trim() || 'the file is empty'
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
