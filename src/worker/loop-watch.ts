/**
 * Looks at the event loop of a thread at the right times. This file decides how often the loop is looked at, and how
 * often while the thread owes an answer. This file knows nothing about what the looks mean (loop-pulse.ts), and how a
 * thread is replaced.
 */
import { LoopPulse } from './loop-pulse.ts'

/** Shortest time between two looks, in milliseconds. */
const LOOK = 3_000
/** Milliseconds between two looks while a beat is requested. */
const LOOK_AGAIN = 500

export type WatchedLoop = {
  /** Returns the total milliseconds that the thread's event loop has waited for events. */
  readonly idle: () => number
  /** Asks the watched thread for a beat. */
  readonly ask: () => void
  /** Called when the event loop of the thread hangs. */
  readonly onHang: () => void
}

export class LoopWatch {
  readonly #loop: WatchedLoop
  readonly #pulse: LoopPulse
  #lookedAt: number
  #again: NodeJS.Timeout | undefined

  constructor(loop: WatchedLoop, now: number) {
    this.#loop = loop
    this.#pulse = new LoopPulse(now)
    this.#lookedAt = now
  }

  /** Reports that the watched thread has sent a message. */
  hear(): void {
    this.#pulse.hear(performance.now())
  }

  /** Tests the event loop of the thread, if the last test was long ago. */
  glance(now: number): void {
    if (!this.#pulse.isAsked && now - this.#lookedAt >= LOOK) this.#look(now)
  }

  /** Ends the tests, because the watched thread has ended. */
  end(): void {
    clearTimeout(this.#again)
  }

  #look(now: number): void {
    this.#lookedAt = now
    // A loop that waits at this moment has waited longer at the second reading.
    const before = this.#loop.idle()
    const idle = this.#loop.idle()
    const found = this.#pulse.look(idle, now, idle > before)
    if (found === 'hangs') return this.#loop.onHang()
    if (found === 'ask') this.#loop.ask()
    if (this.#pulse.isAsked) this.#again = setTimeout(() => this.#lookAgain(), LOOK_AGAIN).unref()
  }

  #lookAgain(): void {
    if (this.#pulse.isAsked) this.#look(performance.now())
  }
}
