/**
 * Whether the thread still runs that should say a word now and then. Decided here: when its silence is a hang. Refuses to
 * know what it should say.
 */
/** A thread that runs says something every 3.75 s at the latest (healthcheck/check-service.ts, notify/notify-service.ts). */
const SILENT_AFTER = 5_000
/** So much longer before its first word: it loads, on a node that may be booting. */
const LOADING = 4
/** Share of it for a second look: an engine that was stalled has the thread's words still before it. */
const SECOND_LOOK = 1 / 8

export class ThreadPulse {
  readonly #onSilence: () => void
  readonly #silentAfter: number
  #timer: NodeJS.Timeout | undefined
  #doubted = false

  constructor(onSilence: () => void, silentAfter = SILENT_AFTER) {
    this.#onSilence = onSilence
    this.#silentAfter = silentAfter
  }

  /** A thread that has just begun, or has something to say from now on. */
  begin(): void {
    this.#expect(LOADING * this.#silentAfter)
  }

  hear(): void {
    if (this.#timer !== undefined) this.#expect(this.#silentAfter)
  }

  end(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /** A word within so many ms. */
  #expect(within: number): void {
    this.#doubted = false
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#doubt(), within).unref()
  }

  #doubt(): void {
    if (this.#doubted) {
      this.end()
      return this.#onSilence()
    }
    this.#doubted = true
    this.#timer = setTimeout(() => this.#doubt(), SECOND_LOOK * this.#silentAfter).unref()
  }
}
