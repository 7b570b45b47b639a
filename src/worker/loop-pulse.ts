/**
 * Whether the event loop of a thread still turns, whatever it does there. Decided here: a loop that has waited for something
 * since the last look turns, which is seen from outside and wakes nobody; one that has not is busy or hangs, and is asked
 * for a word. Refuses to know what the thread is for.
 */

/** Without a moment of waiting and without a word: then it is asked. */
const SILENT_AFTER = 3_000
/** For the answer. */
const ANSWER_WITHIN = 2_000
/** So much longer before its first turn: it loads, on a node that may be booting. */
const LOADING = 4
/** A look that finds no answer may come from an engine that was stalled, and has it still before it. */
const LOOKS_IN_VAIN = 2

export class LoopPulse {
  #idle = 0
  #alive: number
  #begun = false
  #asked: { readonly at: number; looks: number } | undefined

  constructor(now: number) {
    this.#alive = now
  }

  /** It owes a word. */
  get isAsked(): boolean {
    return this.#asked !== undefined
  }

  /** It has said something. */
  hear(now: number): void {
    this.#begun = true
    this.#alive = now
    this.#asked = undefined
  }

  /** `idle`: ms that the loop has waited for something, ever. */
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
