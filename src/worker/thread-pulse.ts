/**
 * Detects that a thread hangs that should send a message from time to time. This file decides when silence is a hang.
 * It does not know the messages.
 */
/**
 * Milliseconds. A thread that works sends a message at least every 3.75 s (healthcheck/check-service.ts,
 * notify/notify-service.ts).
 */
const SILENT_AFTER = 5_000
/** Factor for the time before the first message, when the thread is loading, perhaps on a node that is booting. */
const LOADING = 4
/** Time of a second check, as a share. An engine that was stalled has not read the thread's messages yet. */
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

  /** Starts to expect messages from a new thread, or from now on. */
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

  /** Expects a message within this number of milliseconds. */
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
