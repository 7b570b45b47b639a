/**
 * Returns the text of an error about a value that a person or a client gave: the path of the value, what is wrong, what
 * is accepted. All refused values have this form: YAML, flags and arguments, environment variables and requests of the
 * API. `given`: `undefined` = the value is missing, `null` = the key has no value. A secret must not be given.
 */
export function refusedValue(path: string, given: unknown, accepted: string): string {
  if (given === undefined) return `${path}: required, ${accepted}`
  if (given === null) return `${path}: no value, expected ${accepted}`
  return `${path}: cannot use ${shortValue(given)}, expected ${accepted}`
}

/** Returns the text of an error about a value that may be a secret, which the text does not quote. */
export const refusedSecret = (path: string, accepted: string): string =>
  `${path}: cannot use this value, expected ${accepted}`

/** Returns a value as short text on one line. A value that contains itself is not followed. */
function shortValue(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list'
  if (typeof value === 'object' && value !== null) return 'a mapping'
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value)
  return text.length > 60 ? `${text.slice(0, 57)}...` : text
}
