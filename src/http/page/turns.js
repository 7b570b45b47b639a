/**
 * Repeats a request; only one runs at a time. A caller may ask for the next request sooner. This file knows nothing
 * about the request.
 */
export class Turns {
  #ask
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer
  #isAsking = false
  #isOver = false
  /** Pause that was requested during a turn, in milliseconds. @type {number | undefined} */
  #wanted

  /** @param {() => Promise<number>} ask never rejects; resolves with the ms until the next turn */
  constructor(ask) {
    this.#ask = ask
  }

  /** @param {number} within ms */
  next(within) {
    this.#isOver = false
    if (this.#isAsking) this.#wanted = within
    else {
      clearTimeout(this.#timer)
      this.#timer = setTimeout(() => void this.#turn(), within)
    }
  }

  end() {
    this.#isOver = true
    clearTimeout(this.#timer)
  }

  async #turn() {
    this.#isAsking = true
    this.#wanted = undefined
    const pause = await this.#ask()
    this.#isAsking = false
    if (!this.#isOver) this.next(this.#wanted ?? pause)
  }
}
