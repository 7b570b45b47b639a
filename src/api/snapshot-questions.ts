/**
 * The worker's questions to the engine: every one anew, and an answer that does not come is an error instead of old
 * numbers. Refuses to know who wants to know.
 */
import type { Snapshot } from '../daemon/snapshot.ts'
import type { WorkerMessage } from './worker-message.ts'

const ENGINE_TIMEOUT = 1_000

export class SnapshotQuestions {
  readonly #tell: (message: WorkerMessage) => void
  readonly #waiting = new Map<number, (snapshot: Snapshot) => void>()
  #lastId = 0

  constructor(tell: (message: WorkerMessage) => void) {
    this.#tell = tell
  }

  ask(): Promise<Snapshot> {
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(id)
        reject(new Error(`The engine has not answered for ${ENGINE_TIMEOUT} ms`))
      }, ENGINE_TIMEOUT)
      this.#waiting.set(id, (snapshot) => {
        clearTimeout(timer)
        resolve(snapshot)
      })
      this.#tell({ kind: 'snapshotWanted', id })
    })
  }

  answered(id: number, snapshot: Snapshot): void {
    this.#waiting.get(id)?.(snapshot)
    this.#waiting.delete(id)
  }
}
