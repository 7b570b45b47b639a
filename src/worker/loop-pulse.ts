/**
 * Tells whether the event loop of a thread still turns. A loop that has waited since the last check turns; this is seen
 * from outside, and wakes no thread. A loop that has not waited is busy or hangs, and is asked for a beat. This file
 * does not know the purpose of the thread.
 */

/** Milliseconds without waiting and without a message after which a beat is requested. */
const SILENT_AFTER = 3_000
/** Time limit of the answer, in milliseconds. */
const ANSWER_WITHIN = 2_000
/** Factor for the time before the first turn, when the thread is loading, perhaps on a node that is booting. */
const LOADING = 4
/** Number of checks without an answer. The engine itself may have been stalled, with the answer still unread. */
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

  /** Reports a message of the thread. */
  hear(now: number): void {
    this.#begun = true
    this.#alive = now
    this.#asked = undefined
  }

  /** Checks the loop. `idle`: total milliseconds that the loop has waited. */
  look(idle: number, now: number): 'turns' | 'ask' | 'hangs' {
    if (idle > this.#idle) {
      this.#idle = idle
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
