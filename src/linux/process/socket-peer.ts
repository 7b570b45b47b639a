/**
 * Identifies the process at the other end of a unix socket (SO_PEERCRED). This file decides how to find the descriptor
 * of a socket of Node, which Node does not document. If the descriptor cannot be found, the caller must treat the
 * client as unknown. This file does not know what a user may do.
 */
import type { Socket } from 'node:net'
import type { Credentials } from '../native.ts'

export type Peer = { readonly pid: number; readonly uid: number }

/**
 * Returns the process at the other end of a socket. Returns `undefined` if that process has ended, if the socket is no
 * unix socket, or if the descriptor cannot be found.
 */
export function socketPeer(native: Pick<Credentials, 'peerOf'>, socket: Socket): Peer | undefined {
  const descriptor = descriptorOf(socket)
  if (descriptor === undefined) return undefined
  try {
    return native.peerOf(descriptor)
  } catch (error) {
    if (error instanceof Error && 'syscall' in error) return undefined
    throw error
  }
}

function descriptorOf(socket: object): number | undefined {
  if (!('_handle' in socket)) return undefined
  const handle = socket._handle
  if (typeof handle !== 'object' || handle === null || !('fd' in handle)) return undefined
  return typeof handle.fd === 'number' && handle.fd >= 0 ? handle.fd : undefined
}
