/**
 * Checks whether an answer contains the expected text. Decided here: how much of an answer is checked.
 */
import type { Expectation } from '../check.ts'

/** Limit of an answer in characters. The rest is neither read nor kept. */
export const ANSWER_LIMIT = 65_536

export type Matcher = {
  readonly matches: (answer: string) => boolean
  readonly wanted: string
}

/** Returns the matcher. Throws SyntaxError for an invalid pattern. */
export function matcherOf(expectation: Expectation): Matcher {
  if (expectation.kind === 'contains') {
    const { text } = expectation
    return { matches: (answer) => answer.includes(text), wanted: `"${text}"` }
  }
  const pattern = new RegExp(expectation.pattern, 'su')
  return { matches: (answer) => pattern.test(answer), wanted: String(pattern) }
}
