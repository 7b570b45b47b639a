/**
 * Ensures that only one daemon runs on a node. This file decides that a node is a network namespace, because addresses
 * belong to a network namespace. The lock is the name of an abstract unix socket. The kernel gives such a name to one
 * process only, and frees the name when the process ends in any way. The sockets are bound and never listen, so no
 * other process can occupy the engine's thread with connections. Any local user may take the name, so a refusal names
 * the process that holds the lock. Other files decide what a second daemon reports.
 */
import { readFileSync } from 'node:fs'
import type { NativeAddon } from './native.ts'
import { processWith } from './process/process-sockets.ts'
import type { Peer } from './process/socket-peer.ts'
import { AF, unixSockaddr } from './sockets/sockaddr.ts'

/** Name of the lock, which ss(8) shows as @holdfast. */
const NAME = 'holdfast'
/** sizeof(sun_path). libuv before 1.48 (Node 20) pads the name with NULs to this size, which makes a different name. */
const SUN_PATH = 108
const SOCK_STREAM = 1

export type NodeLock =
  | { readonly taken: true; release(): void }
  /** `by`: process that holds the lock; `undefined` if that process cannot be seen. */
  | { readonly taken: false; readonly by: Peer | undefined }

/**
 * Takes the exact name of the lock, and the padded name that holdfast 0.1 took under Node 20. With the two names,
 * daemons of holdfast 0.1 and of later versions exclude each other. Throws if socket(2) or bind(2) fails.
 */
export function takeNodeLock(native: Pick<NativeAddon, 'NativeSocket'>, name = NAME): NodeLock {
  const exact = `\0${name}`
  const held: { close(): void }[] = []
  const release = () => {
    for (const socket of held) socket.close()
  }
  for (const path of [exact, exact.padEnd(SUN_PATH, '\0')]) {
    const socket = new native.NativeSocket(AF.unix, SOCK_STREAM, 0, 1, 1)
    held.push(socket)
    try {
      socket.bind(unixSockaddr(path))
    } catch (error) {
      release()
      if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')
        return { taken: false, by: processWith(inodesOf(name)) }
      throw error
    }
  }
  return { taken: true, release }
}

/**
 * Returns the inodes of the sockets with the exact and the padded name in this network namespace. The kernel writes NUL
 * as @.
 */
function inodesOf(name: string): ReadonlySet<string> {
  const inodes = new Set<string>()
  for (const line of readFileSync('/proc/self/net/unix', 'utf8').split('\n').slice(1)) {
    const [, , , , , , inode, path] = line.trim().split(/\s+/)
    if (inode !== undefined && path?.replace(/@+$/, '') === `@${name}`) inodes.add(inode)
  }
  return inodes
}
