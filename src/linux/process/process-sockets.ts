/** Finds the sockets of other processes in /proc. A process of another user or PID namespace may be hidden. */
import { readdirSync, readlinkSync, statSync } from 'node:fs'
import type { Peer } from './socket-peer.ts'

/**
 * Returns the inodes of the sockets in `/proc/PID/fd`; `undefined` if that folder may not be read or the process has
 * ended.
 */
export function socketsOf(folder: string): string[] | undefined {
  try {
    return readdirSync(folder).flatMap((descriptor) => {
      const inode = /^socket:\[(\d+)\]$/.exec(targetOf(`${folder}/${descriptor}`))?.[1]
      return inode === undefined ? [] : [inode]
    })
  } catch {
    return undefined
  }
}

/** Returns the first process that has one of the sockets with these inodes. */
export function processWith(inodes: ReadonlySet<string>, proc = '/proc'): Peer | undefined {
  for (const entry of readdirSync(proc)) {
    if (!/^\d+$/.test(entry) || socketsOf(`${proc}/${entry}/fd`)?.some((inode) => inodes.has(inode)) !== true) continue
    const { uid } = statSync(`${proc}/${entry}`, { throwIfNoEntry: false }) ?? {}
    if (uid !== undefined) return { pid: Number(entry), uid }
  }
  return undefined
}

function targetOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch (error) {
    // The process has closed the descriptor in the meantime.
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return ''
    throw error
  }
}
