/**
 * Requests a launcher for the worker. The worker creates the channel, and the engine starts the process at the other
 * end. The worker has no privilege to become another user, and may not start programs that the configuration does not
 * name. This file knows nothing about the protocol of the channel.
 */

import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { messageOf } from '../base/message-of.ts'
import type { Refusal } from '../healthcheck/programs/launched-programs.ts'
import type { ProgramSet } from '../healthcheck/programs/program-set.ts'
import type { EngineMessage, WorkerMessage } from './worker-message.ts'

export class LaunchRequests {
  readonly #streamPair: () => readonly [number, number]
  readonly #tell: (message: WorkerMessage) => void
  readonly #waiting = new Map<number, (refusal: Refusal | undefined) => void>()
  #lastId = 0

  constructor(streamPair: () => readonly [number, number], tell: (message: WorkerMessage) => void) {
    this.#streamPair = streamPair
    this.#tell = tell
  }

  async launch(programs: ProgramSet): Promise<Duplex | Refusal> {
    try {
      const [ours, theirs] = this.#streamPair()
      // The stream to the launcher is closed when this thread ends, in any way.
      const stream = new Socket({ fd: ours, readable: true, writable: true })
      const id = ++this.#lastId
      const answer = new Promise<Refusal | undefined>((resolve) => this.#waiting.set(id, resolve))
      this.#tell({ kind: 'launchWanted', id, programs, channel: theirs })
      const refusal = await answer
      if (refusal === undefined) return stream
      stream.destroy()
      return refusal
    } catch (error) {
      const reason = messageOf(error)
      return { reason: 'notPossible', detail: `Cannot run ${programs.programs[0]?.argv[0]}: ${reason}` }
    }
  }

  answered({ id, refusal }: Extract<EngineMessage, { kind: 'launched' }>): void {
    this.#waiting.get(id)?.(refusal)
    this.#waiting.delete(id)
  }
}
