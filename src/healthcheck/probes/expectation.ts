/**
 * Whether an answer holds what it must. Decided here: how much of an answer is looked at. Refuses to know where the
 * answer came from.
 */
import type { Expectation } from '../check.ts'

/** More is not read, nor kept. */
export const ANSWER_LIMIT = 65_536

export type Matcher = {
  readonly matches: (answer: string) => boolean
  readonly wanted: string
}

/** Throws SyntaxError for a pattern that is none. */
export function matcherOf(expectation: Expectation): Matcher {
  if (expectation.kind === 'contains') {
    const { text } = expectation
    return { matches: (answer) => answer.includes(text), wanted: `"${text}"` }
  }
  const pattern = new RegExp(expectation.pattern, 'su')
  return { matches: (answer) => pattern.test(answer), wanted: String(pattern) }
}
