/**
 * One daemon per node. Decided here: "node" is the network namespace, because that is where addresses live, and the
 * lock is a name in its abstract unix namespace: the kernel takes it in one step and gives it back with the process,
 * however that ends. Any local user may take such a name, so that who has it is part of the answer. Refused here: what a
 * second daemon is told.
 */
import { connect, createServer } from 'node:net'
import type { Credentials } from './native.ts'
import { type Peer, socketPeer } from './socket-peer.ts'

/** Shown as @holdfast by ss(8). */
const NAME = '\0holdfast'
const ANSWER_WITHIN = 1_000

export type NodeLock =
  | { readonly taken: true; release(): void }
  /** `by` is undefined when it does not answer. */
  | { readonly taken: false; readonly by: Peer | undefined }

/** Keeps no process alive. */
export function takeNodeLock(native: Pick<Credentials, 'peerOf'>): Promise<NodeLock> {
  const server = createServer((connection) => connection.destroy())
  return new Promise((resolve, reject) => {
    server.on('error', (error) => {
      if ('code' in error && error.code === 'EADDRINUSE')
        void holder(native).then((by) => resolve({ taken: false, by }))
      else reject(error)
    })
    server.listen(NAME, () => resolve({ taken: true, release: () => void server.close() }))
    server.unref()
  })
}

function holder(native: Pick<Credentials, 'peerOf'>): Promise<Peer | undefined> {
  return new Promise((resolve) => {
    const socket = connect(NAME)
    const answered = (peer: Peer | undefined) => {
      socket.destroy()
      resolve(peer)
    }
    socket.setTimeout(ANSWER_WITHIN, () => answered(undefined))
    socket.once('error', () => answered(undefined))
    socket.once('connect', () => answered(socketPeer(native, socket)))
  })
}
