/**
 * What /v1/events can be asked: `?after=SEQ&limit=COUNT`. Refuses to know who answers.
 */

export type EventQuestion = { readonly after?: number; readonly limit?: number }

/** Or what is wrong with it, in words. Source: whoever may connect. */
export function eventQuestion(query: URLSearchParams): EventQuestion | string {
  const question: { after?: number; limit?: number } = {}
  for (const key of ['after', 'limit'] as const) {
    const text = query.get(key)
    if (text === null) continue
    if (!/^\d{1,15}$/.test(text)) return `Cannot use "${text.slice(0, 40)}" as ${key}: a whole number wanted`
    question[key] = Number(text)
  }
  return question
}
