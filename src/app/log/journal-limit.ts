/**
 * Lines of JSON for the systemd journal. journald ends a record after 48 KiB and takes the rest as another record. This
 * file decides which fields of a longer record are shortened or omitted, so that the line remains a complete document.
 * Pure.
 */
import { safeJson } from './log-format.ts'

/** LineMax= of journald.conf(5), without the octet that ends the line. */
const MOST_OCTETS = 48 * 1024 - 1
/**
 * Characters that are left of a shortened text. A character takes at most 12 octets, so `msg` and one more field fit.
 */
const MOST_CHARACTERS = 1_500
/** Keys of every log record that are never shortened, because programs read them. */
const WHOLE: ReadonlySet<string> = new Set(['level', 'time', 'pid', 'name', 'event'])

/** Returns the octets of a value in a line, 0 for `undefined`. */
const octetsOf = (value: unknown): number =>
  value === undefined ? 0 : Buffer.byteLength(safeJson(JSON.stringify(value)))

/**
 * Returns a JSON line that fits into one record of the systemd journal, with its line end. If the line is too long, the
 * largest fields are shortened: a text is cut, a list or object is omitted. The field `shortened` has their names.
 */
export function journalJson(line: string): string {
  const octets = Buffer.byteLength(line)
  if (octets <= MOST_OCTETS) return line
  const record: Record<string, unknown> = JSON.parse(line)
  const keys = Object.keys(record).filter((key) => !WHOLE.has(key))
  const sizes = new Map(keys.map((key) => [key, octetsOf(record[key])]))
  const shortened: string[] = []
  let over = octets + octetsOf({ shortened }) - MOST_OCTETS
  const replace = (key: string, value: unknown) => {
    over -= (sizes.get(key) ?? 0) - octetsOf(value)
    sizes.set(key, octetsOf(value))
    record[key] = value
  }
  const largest = () => [...keys].sort((one, other) => (sizes.get(other) ?? 0) - (sizes.get(one) ?? 0))
  for (const key of largest()) {
    if (over <= 0) break
    shortened.push(key)
    over += octetsOf(key) + 1
    replace(key, shorter(record[key]))
  }
  // The log record has too many fields with text, so whole fields are omitted.
  for (const key of largest()) {
    if (over <= 0) break
    if (key !== 'msg') replace(key, undefined)
  }
  return safeJson(`${JSON.stringify({ ...record, shortened })}\n`)
}

/** Returns a shortened text. `undefined` for a value of another type, because part of it would be a wrong value. */
function shorter(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  const more = value.length - MOST_CHARACTERS
  return more <= 0 ? value : `${value.slice(0, MOST_CHARACTERS)}… (${more} more characters)`
}
