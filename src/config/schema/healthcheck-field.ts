/**
 * Values that only health checks have, read from their text. Decided here: what an answer, a URL and a header may look
 * like. URL and RegExp are those that the checks use themselves: another reader would promise what they do not keep.
 * This file does not know which key a value stands under.
 */
import * as z from 'zod'
import type { StatusRange } from '../../healthcheck/check.ts'
import type { Reading } from './field.ts'

/** In a message it may stand only without credentials and query (schema-problem.ts). */
export const urlFrom =
  (key: string, example: string) =>
  (text: string): Reading<string> => {
    if (!/^https?:\/\//i.test(text) || !URL.canParse(text))
      return { refused: `${key} needs a URL such as ${example}`, isWhole: true }
    const { username, password } = new URL(text)
    try {
      decodeURIComponent(`${username}${password}`)
    } catch {
      return { refused: 'credentials with valid percent signs wanted' }
    }
    return { value: text }
  }

export function patternFrom(text: string): Reading<string> {
  try {
    new RegExp(text, 'su')
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^.*\/su?: /s, '') : ''
    return { refused: `a regular expression wanted (${reason})` }
  }
  return { value: text }
}

export const jitterFrom =
  (wanted: string) =>
  (text: string): Reading<number> => {
    const [, digits] = /^(\d{1,3}(?:\.\d{1,3})?)%$/.exec(text) ?? []
    const percent = Number(digits)
    return percent >= 0 && percent <= 100 ? { value: percent / 100 } : { refused: wanted }
  }

/** Values of headers, of variables of the environment. */
export const texts = (wanted: string) =>
  z.record(z.string(), z.string({ error: 'a text wanted, in quotes' }), { error: wanted })

export const HEADERS_WANTED = 'a mapping of names of headers to texts wanted'

/** RFC 9110 §5.1, §5.5. What Node would refuse to send is refused here, where it has a line. */
export function headersFrom(
  headers: Readonly<Record<string, string>>,
  context: z.core.ParsePayload,
): Readonly<Record<string, string>> {
  const lower = new Map<string, string>()
  for (const [name, value] of Object.entries(headers)) {
    const key = name.toLowerCase()
    const refused = !/^[!#$%&'*+.^_`|~0-9a-z-]{1,128}$/.test(key)
      ? 'the name of a header wanted'
      : !/^[\t\x20-\x7e\x80-\xff]*$/.test(value)
        ? 'one line of printable characters wanted'
        : lower.has(key)
          ? 'every header once wanted, capitals make no difference'
          : undefined
    if (refused !== undefined) context.issues.push({ code: 'custom', message: refused, input: value, path: [name] })
    lower.set(key, value)
  }
  return Object.fromEntries(lower)
}

export const STATUS_WANTED = 'a status from 100 to 599, a range such as 200-399, or a list of such wanted'

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
  context.issues.push({ code: 'custom', message: STATUS_WANTED, input: written })
  return z.NEVER
}
