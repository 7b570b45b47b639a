/**
 * How many tests of a file are at work at once: those that wait for daemons most of the time need not wait for each other.
 * Decides the order (first come, first served) and that a turn ends with its test in every case. Refuses to know what is
 * done in it; what measures milliseconds wants no company and is an ordinary `test`.
 */
import { type TestContext, test } from 'vitest'

/** Longer than all tests of a file together: most of it is the wait for its turn. */
const WITH_ITS_TURN = 300_000

export class Turns {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(free: number) {
    this.#free = free
  }

  /** A test of its own that begins when there is room for it. */
  test(title: string, body: (context: TestContext) => Promise<void>): void {
    test.concurrent(title, { timeout: WITH_ITS_TURN }, async (context) => {
      await this.#take()
      context.onTestFinished(() => this.#give())
      await body(context)
    })
  }

  async #take(): Promise<void> {
    if (this.#free === 0) return new Promise((resolve) => void this.#waiting.push(resolve))
    this.#free--
  }

  #give(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free++
    else next()
  }
}
