/** This machine as the decisions want it: what a caller saw of its links, and the files that node-ip wrote. */
import { readFileSync } from 'node:fs'
import type { Machine } from '../decisions/engine/desired-state.ts'
import { ADDRESS_FILES } from '../decisions/engine/vrrp-interface.ts'
import type { NodeView } from '../decisions/node-ip/selection.ts'
import { remoteWorker } from './remote-worker.ts'

/** Undefined: there is no such file, or it cannot be read. */
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
