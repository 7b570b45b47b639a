/**
 * One daemon per node. Decided here: "node" is the network namespace, because that is where addresses live, and the
 * lock is a name in its abstract unix namespace: the kernel takes it in one step and gives it back with the process,
 * however that ends. Refused here: what a second daemon is told.
 */
import { createServer } from 'node:net'

/** Shown as @holdfast by ss(8). */
const NAME = '\0holdfast'

export type NodeLock = { release(): void }

/** Undefined: somebody else has it. Keeps no process alive. */
export function takeNodeLock(): Promise<NodeLock | undefined> {
  const server = createServer((connection) => connection.destroy())
  return new Promise((resolve, reject) => {
    server.on('error', (error) => {
      if ('code' in error && error.code === 'EADDRINUSE') resolve(undefined)
      else reject(error)
    })
    server.listen(NAME, () => resolve({ release: () => void server.close() }))
    server.unref()
  })
}
