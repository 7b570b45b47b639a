/**
 * Tests whether the answer of a server contains the expected text. This file decides how many characters of an answer
 * are tested.
 */
import type { Expectation } from '../check.ts'

/** Limit of a server's answer in characters. Characters beyond it are neither read nor kept. */
export const ANSWER_LIMIT = 65_536

export type Matcher = {
  readonly matches: (answer: string) => boolean
  readonly wanted: string
}

/** Returns the function that tests an answer. Throws SyntaxError for an invalid pattern. */
export function matcherOf(expectation: Expectation): Matcher {
  if (expectation.kind === 'contains') {
    const { text } = expectation
    return { matches: (answer) => answer.includes(text), wanted: `"${text}"` }
  }
  const pattern = new RegExp(expectation.pattern, 'su')
  return { matches: (answer) => pattern.test(answer), wanted: String(pattern) }
}
