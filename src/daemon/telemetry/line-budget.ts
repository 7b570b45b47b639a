/**
 * How many lines something may have that can happen as often as it likes: some at once, then one in a while. This file
 * does not know what a line says; whoever is refused one has to tell in the end how things are.
 */
import { type Millis, millis, plus } from '../../wire/units.ts'

export class LineBudget {
  readonly #most: number
  readonly #pace: number
  /** When the time that the lines cost is over. */
  #paidAt: Millis | undefined

  constructor(most: number, pace: number) {
    this.#most = most
    this.#pace = pace
  }

  affords(now: Millis): boolean {
    return this.#paidAt === undefined || this.#paidAt - now <= (this.#most - 1) * this.#pace
  }

  spend(now: Millis): void {
    this.#paidAt = plus(millis(Math.max(this.#paidAt ?? now, now)), this.#pace)
  }
}
