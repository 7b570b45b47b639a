/** Reads the query of /v1/events: `?after=SEQ&limit=COUNT`. */
import { refusedValue } from '../base/refused-value.ts'

export type EventQuestion = { readonly after?: number; readonly limit?: number }

/**
 * Returns the parsed query of /v1/events, or an error text if it is invalid. The query may come from any client that
 * can connect.
 */
export function eventQuestion(query: URLSearchParams): EventQuestion | string {
  const question: { after?: number; limit?: number } = {}
  for (const key of ['after', 'limit'] as const) {
    const text = query.get(key)
    if (text === null) continue
    if (!/^\d{1,15}$/.test(text)) return refusedValue(key, text, 'an integer of at least 0')
    question[key] = Number(text)
  }
  return question
}
