/**
 * Detects that a thread hangs which should send a message from time to time. This file decides after which time without
 * a message a thread hangs. This file knows nothing about the messages.
 */
/**
 * Milliseconds without a message after which a thread may hang. A thread that works sends a message at least every 5.5 s
 * (healthcheck/check-service.ts, notify/notify-service.ts).
 */
const SILENT_AFTER = 5_800
/** Factor for the time before the first message, when the thread is loading, perhaps on a node that is booting. */
const LOADING = 4
/**
 * Time until a second check, as a share of the first time. An engine that was stalled has not read the thread's
 * messages yet.
 */
const SECOND_LOOK = 1 / 10

export class ThreadPulse {
  readonly #onSilence: () => void
  readonly #silentAfter: number
  #timer: NodeJS.Timeout | undefined
  #doubted = false

  constructor(onSilence: () => void, silentAfter = SILENT_AFTER) {
    this.#onSilence = onSilence
    this.#silentAfter = silentAfter
  }

  /** Starts to expect messages from a thread. */
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

  /** Sets the milliseconds within which the thread's next message must arrive. */
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
