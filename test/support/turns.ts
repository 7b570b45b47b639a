/**
 * Limits the number of concurrent tests of a file: tests that mostly wait for daemons need not wait for each other.
 * Decides the order (first come, first served). A turn ends with its test in every case. This file does not know the
 * tests. A test that measures milliseconds runs alone and is an ordinary `test`.
 */
import { type TestContext, test } from 'vitest'

/** Milliseconds, longer than all tests of a file together: a test mostly waits for its turn. */
const WITH_ITS_TURN = 300_000

export class Turns {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(free: number) {
    this.#free = free
  }

  /** Defines a test that begins when a turn is free. */
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
