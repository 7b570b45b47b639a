/** Looks up which sockets of this network namespace have a port, and whose they are. */
import { readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { boundSockets } from '../decisions/bound-sockets.ts'
import { textIn } from './machine.ts'

export type Protocol = 'tcp' | 'udp'

/**
 * Returns each socket that waits at the port as text: address, and name and number of the process. In a pod the processes of
 * other containers are not visible, and only the address is returned.
 */
export function portHolders(port: number, protocols: readonly Protocol[]): readonly string[] {
  const sockets = protocols
    .flatMap((protocol) => [protocol, `${protocol}6`])
    .flatMap((table) => boundSockets(textIn(`/proc/net/${table}`) ?? '', port))
  const processes = sockets.length === 0 ? new Map<string, string>() : processesOf(sockets.map(({ inode }) => inode))
  const texts = sockets.map(({ address, inode }) => {
    const process = processes.get(inode)
    const at = address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`
    return process === undefined ? at : `${at} (${process})`
  })
  return [...new Set(texts)]
}

/** Finds the processes that have these sockets open. Returns a text for each inode. */
function processesOf(inodes: readonly string[]): ReadonlyMap<string, string> {
  const links = new Map(inodes.map((inode) => [`socket:[${inode}]`, inode]))
  const found = new Map<string, string>()
  for (const pid of namesIn('/proc').filter((name) => /^\d+$/.test(name)))
    for (const fd of namesIn(`/proc/${pid}/fd`)) {
      const inode = links.get(targetOf(join('/proc', pid, 'fd', fd)))
      if (inode === undefined || found.has(inode)) continue
      found.set(inode, `${textIn(`/proc/${pid}/comm`)?.trim() ?? 'process'}, process ${pid}`)
    }
  return found
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    // The process has ended, or belongs to another user.
    return []
  }
}

function targetOf(link: string): string {
  try {
    return readlinkSync(link)
  } catch {
    return ''
  }
}
