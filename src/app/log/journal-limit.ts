/**
 * A line of JSON for the systemd journal, which ends a record after 48 KiB and reads the rest as another one. Decided here:
 * which fields of a longer record are shortened or left out, so that the line stays one whole document. Pure.
 */
import { safeJson } from './log-format.ts'

/** LineMax= of journald.conf(5), without the octet for the end of the line. */
const MOST_OCTETS = 48 * 1024 - 1
/** Of a text that is shortened. A character takes 12 octets at most, and `msg` stays beside one more field. */
const MOST_CHARACTERS = 1_500
/** Keys of every record: what is read by programs stays whole. */
const WHOLE: ReadonlySet<string> = new Set(['level', 'time', 'pid', 'name'])

/** Octets of a value in a line; 0 for none. */
const octetsOf = (value: unknown): number =>
  value === undefined ? 0 : Buffer.byteLength(safeJson(JSON.stringify(value)))

/**
 * Returns a line that the journal takes whole, with its end. Of a line that is too long, the largest fields are shortened: the
 * end of a text is missing, a list or an object is left out. `shortened` names them.
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
  // Very many texts.
  for (const key of largest()) {
    if (over <= 0) break
    if (key !== 'msg') replace(key, undefined)
  }
  return safeJson(`${JSON.stringify({ ...record, shortened })}\n`)
}

/** Returns `undefined` for a value that would be another one if a part of it were missing. */
function shorter(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  const more = value.length - MOST_CHARACTERS
  return more <= 0 ? value : `${value.slice(0, MOST_CHARACTERS)}… (${more} more characters)`
}
