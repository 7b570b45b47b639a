/**
 * Stops a running daemon. This file decides that the first order to stop counts, whichever signal or command gives the
 * order. A second order does not make the stop faster.
 */
import type { Recorder } from '../daemon/telemetry/recorder.ts'
import { LOG } from '../log/log.ts'
import { EXIT } from './exit-code.ts'

export class Departure {
  /** Promise that resolves when the engine has stopped. */
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

  /** Sets the function that stops the engine. The caller must set it before the engine starts. */
  through(stop: () => Promise<void>): void {
    this.#stop = stop
  }

  leave(trigger: string): void {
    const isSecond = this.#isLeaving
    this.#recorder.log(LOG.stopping, `${trigger}: ${isSecond ? 'already stopping' : 'stopping'}`, { trigger })
    if (isSecond) return
    this.#isLeaving = true
    this.#recorder.chronicle.record({ kind: 'stopOrdered', trigger })
    void this.#stop?.().then(this.#done)
  }

  /** Stops the daemon because of a failure, which the exit status shows. */
  fail(trigger: string): void {
    this.#exitStatus = EXIT.failure
    this.leave(trigger)
  }
}
