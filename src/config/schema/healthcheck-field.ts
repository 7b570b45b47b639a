/**
 * Reads values that only health checks have. This file decides which status, URL and header are valid. This file uses
 * the classes URL and RegExp, as the checks do, so that it accepts only values that a check can use.
 */
import * as z from 'zod'
import type { StatusRange } from '../../healthcheck/check.ts'
import type { Reading } from './field.ts'

/**
 * Returns a function that reads a URL. A message may show a URL only without credentials and query (schema-problem.ts).
 */
export const urlFrom =
  (example: string) =>
  (text: string): Reading<string> => {
    if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return { refused: `a URL such as ${example}` }
    const { username, password } = new URL(text)
    try {
      decodeURIComponent(`${username}${password}`)
    } catch {
      return { refused: 'credentials with valid percent encoding' }
    }
    return { value: text }
  }

export function patternFrom(text: string): Reading<string> {
  try {
    new RegExp(text, 'su')
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^.*\/su?: /s, '') : ''
    return { refused: `a valid regular expression (${reason})` }
  }
  return { value: text }
}

export const jitterFrom =
  (accepted: string) =>
  (text: string): Reading<number> => {
    const [, digits] = /^(\d{1,3}(?:\.\d{1,3})?)%$/.exec(text) ?? []
    const percent = Number(digits)
    return percent >= 0 && percent <= 100 ? { value: percent / 100 } : { refused: accepted }
  }

/** Returns the schema of HTTP headers, or of environment variables. */
export const texts = (accepted: string) =>
  z.record(z.string(), z.string({ error: 'a text in quotes' }), { error: accepted })

export const HEADERS_EXPECTED = 'a mapping from names of headers to texts'

/**
 * Refuses HTTP headers that Node would refuse to send (RFC 9110 §5.1, §5.5). A problem of the configuration has a line.
 */
export function headersFrom(
  headers: Readonly<Record<string, string>>,
  context: z.core.ParsePayload,
): Readonly<Record<string, string>> {
  const lower = new Map<string, string>()
  for (const [name, value] of Object.entries(headers)) {
    const key = name.toLowerCase()
    const refused = !/^[!#$%&'*+.^_`|~0-9a-z-]{1,128}$/.test(key)
      ? 'the name of a header'
      : !/^[\t\x20-\x7e\x80-\xff]*$/.test(value)
        ? 'one line of printable characters'
        : lower.has(key)
          ? 'each header once, in upper or lower case'
          : undefined
    if (refused !== undefined) context.issues.push({ code: 'custom', message: refused, input: value, path: [name] })
    lower.set(key, value)
  }
  return Object.fromEntries(lower)
}

export const STATUS_EXPECTED = 'a status from 100 to 599, a range such as 200-399, or a list of them'

type WrittenStatus = number | string
export function statusFrom(
  written: WrittenStatus | WrittenStatus[],
  context: z.core.ParsePayload,
): readonly StatusRange[] {
  const ranges = [written].flat().flatMap((each): StatusRange[] => {
    const [, from, to] = /^(\d{3})(?:-(\d{3}))?$/.exec(String(each)) ?? []
    const [first, last] = [Number(from), Number(to ?? from)]
    return first >= 100 && last <= 599 && first <= last ? [[first, last]] : []
  })
  if (ranges.length > 0 && ranges.length === [written].flat().length) return ranges
  context.issues.push({ code: 'custom', message: STATUS_EXPECTED, input: written })
  return z.NEVER
}
