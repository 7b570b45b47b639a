/**
 * How many events of one sort the journal takes where somebody else decides how often they happen: some at once, then one
 * in a while; the next one that is recorded says how many were not. Refuses to know what they say.
 */
import type { Millis } from '../../wire/units.ts'
import { LineBudget } from './line-budget.ts'

const MOST_AT_ONCE = 20
const PACE = 1_000

export class EventBudget {
  readonly #budget = new LineBudget(MOST_AT_ONCE, PACE)
  #suppressed = 0

  /** What the event says of those before it; undefined: it is not recorded. */
  take(now: Millis): { readonly suppressed?: number } | undefined {
    if (!this.#budget.affords(now)) {
      this.#suppressed++
      return undefined
    }
    this.#budget.spend(now)
    const suppressed = this.#suppressed
    this.#suppressed = 0
    return suppressed === 0 ? {} : { suppressed }
  }
}
