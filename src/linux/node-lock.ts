/**
 * One daemon per node. Decided here: a node is a network namespace, because addresses belong to it. The lock is a name
 * in its abstract unix namespace. The kernel gives such a name in one step and takes it back with the process, however
 * that ends. The sockets are bound and never listen, so no other process can occupy the engine's thread with
 * connections. Any local user may take such a name, so a refusal names the holder. Not decided here: what a second
 * daemon reports.
 */
import { readFileSync } from 'node:fs'
import type { NativeAddon } from './native.ts'
import { processWith } from './process/process-sockets.ts'
import type { Peer } from './process/socket-peer.ts'
import { AF, unixSockaddr } from './sockets/sockaddr.ts'

/** Shown as @holdfast by ss(8). */
const NAME = 'holdfast'
/** sizeof(sun_path). libuv before 1.48 (Node 20) pads the name with NULs to this size, which makes another name. */
const SUN_PATH = 108
const SOCK_STREAM = 1

export type NodeLock =
  | { readonly taken: true; release(): void }
  /** `by`: process that holds the lock; `undefined` if it cannot be seen. */
  | { readonly taken: false; readonly by: Peer | undefined }

/**
 * Takes the exact name, and the padded name that holdfast 0.1 took under Node 20. So daemons of both kinds exclude each
 * other. Throws as socket(2) and bind(2) fail.
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

/** Returns the sockets of both names in this network namespace. The kernel writes NUL as @. */
function inodesOf(name: string): ReadonlySet<string> {
  const inodes = new Set<string>()
  for (const line of readFileSync('/proc/self/net/unix', 'utf8').split('\n').slice(1)) {
    const [, , , , , , inode, path] = line.trim().split(/\s+/)
    if (inode !== undefined && path?.replace(/@+$/, '') === `@${name}`) inodes.add(inode)
  }
  return inodes
}
