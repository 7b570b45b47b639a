/**
 * Limits how many tests of a file run at the same time. Tests that mostly wait for daemons can run together. This file
 * decides the order of the tests (first come, first served). A test gives its turn back however it ends. This file does
 * not know the tests. A test that measures milliseconds has to run alone and is an ordinary `test`.
 */
import { type TestContext, test } from 'vitest'

/**
 * Time limit of a test in milliseconds, longer than all tests of a file together, because a test mostly waits for its
 * turn.
 */
const WITH_ITS_TURN = 300_000

export class Turns {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(free: number) {
    this.#free = free
  }

  /** Defines a test that starts when fewer tests than the limit are running. */
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
