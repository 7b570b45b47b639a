/**
 * Who is at the other end of a unix socket (SO_PEERCRED). Decided here: how the descriptor of a socket of Node is found,
 * which Node tells nobody; where it cannot be found there is no peer, and whoever asks must take that for a stranger.
 * Refuses to know who may do what.
 */
import type { Socket } from 'node:net'
import type { Credentials } from '../native.ts'

export type Peer = { readonly pid: number; readonly uid: number }

/** Undefined: it is gone, it is no unix socket, or a Node that keeps its descriptors elsewhere. */
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
