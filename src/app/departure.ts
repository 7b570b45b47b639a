/**
 * The way out of a running daemon. Decided here: the first order to leave counts, whichever signal or command gives it; a
 * second one does not make it faster.
 */
import type { Recorder } from '../daemon/telemetry/recorder.ts'
import { EXIT } from './exit-code.ts'

export class Departure {
  /** Resolves when the engine has left. */
  readonly left: Promise<void>
  readonly #recorder: Pick<Recorder, 'log' | 'chronicle'>
  #done: () => void = () => {}
  #stop: (() => Promise<void>) | undefined
  #isLeaving = false
  #exitStatus: number = EXIT.ok

  constructor(recorder: Pick<Recorder, 'log' | 'chronicle'>) {
    this.#recorder = recorder
    this.left = new Promise((resolve) => {
      this.#done = resolve
    })
  }

  get exitStatus(): number {
    return this.#exitStatus
  }

  /** Names what ends the engine. Call it before the engine starts. */
  through(stop: () => Promise<void>): void {
    this.#stop = stop
  }

  leave(trigger: string): void {
    const isSecond = this.#isLeaving
    this.#recorder.log('info', `${trigger}: ${isSecond ? 'already leaving' : 'leaving'}`, { trigger })
    if (isSecond) return
    this.#isLeaving = true
    this.#recorder.chronicle.record({ kind: 'stopOrdered', trigger })
    void this.#stop?.().then(this.#done)
  }

  /** Leaves because of a failure: the exit status says so. */
  fail(trigger: string): void {
    this.#exitStatus = EXIT.failure
    this.leave(trigger)
  }
}
