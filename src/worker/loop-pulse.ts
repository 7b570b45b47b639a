/**
 * Tells whether the event loop of a thread still turns. An event loop that has waited for events since the last check
 * works. The engine sees that from outside, without waking the thread. An event loop that has not waited is busy or
 * hangs, so the engine asks the thread for a beat. This file knows nothing about the purpose of the thread.
 */

/** Milliseconds without waiting and without a message after which a beat is requested. */
const SILENT_AFTER = 3_000
/** Milliseconds within which the thread must answer a request for a beat. */
const ANSWER_WITHIN = 2_000
/**
 * Factor for the time before the first turn of the event loop, while the thread is loading, perhaps on a node that is
 * booting.
 */
const LOADING = 4
/**
 * Number of checks without an answer after which the thread counts as hanging. The engine itself may have been stalled,
 * with the answer still unread.
 */
const LOOKS_IN_VAIN = 2

export class LoopPulse {
  #idle = 0
  #alive: number
  #begun = false
  #asked: { readonly at: number; looks: number } | undefined

  constructor(now: number) {
    this.#alive = now
  }

  /** Whether a beat has been requested. */
  get isAsked(): boolean {
    return this.#asked !== undefined
  }

  /** Notes that the watched thread has sent a message. */
  hear(now: number): void {
    this.#begun = true
    this.#alive = now
    this.#asked = undefined
  }

  /**
   * Checks the loop. `idle`: total milliseconds that the loop has waited. `isWaiting`: true if the loop waits at this
   * moment. A loop that has waited since the last check may hang since then.
   */
  look(idle: number, now: number, isWaiting = idle > this.#idle): 'turns' | 'ask' | 'hangs' {
    this.#idle = idle
    if (isWaiting) {
      this.hear(now)
      return 'turns'
    }
    const asked = this.#asked
    if (asked !== undefined) {
      asked.looks++
      return asked.looks >= LOOKS_IN_VAIN && now - asked.at >= ANSWER_WITHIN ? 'hangs' : 'turns'
    }
    if (now - this.#alive < SILENT_AFTER * (this.#begun ? 1 : LOADING)) return 'turns'
    this.#asked = { at: now, looks: 0 }
    return 'ask'
  }
}
