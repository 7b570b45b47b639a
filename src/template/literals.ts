/** Values of the literals of a template. The forms that are left out are refused: Go reads `010` as 8, for example. */

const ESCAPE = /\\(?:([abfnrtv\\"])|x([0-7][0-9a-fA-F])|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([01][0-7]{2}))|\\/g
const SINGLE: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  '"': '"',
}
const INTEGER = /^[+-]?(?:0|[1-9][0-9]*)$/

/** Returns the value of a string in quotes or backquotes; `undefined` if it has an unknown escape. */
export function stringOf(literal: string): string | undefined {
  const inner = literal.slice(1, -1)
  // Go drops carriage returns from a string in backquotes only in Go source, not in a template.
  if (literal.startsWith('`')) return inner
  let isValid = true
  const value = inner.replace(
    ESCAPE,
    (_, single?: string, hex?: string, short?: string, long?: string, octal?: string) => {
      if (single !== undefined) return SINGLE[single] ?? ''
      const digits = hex ?? short ?? long
      const code = digits !== undefined ? Number.parseInt(digits, 16) : Number.parseInt(octal ?? '', 8)
      const isCharacter = code <= 0x10_ffff && (code < 0xd800 || code > 0xdfff)
      if (!isCharacter) isValid = false
      return isCharacter ? String.fromCodePoint(code) : ''
    },
  )
  return isValid ? value : undefined
}

/** Returns the value of a decimal integer; `undefined` for any other number. */
export function numberOf(literal: string): number | undefined {
  const value = INTEGER.test(literal) ? Number(literal) : Number.NaN
  // Adding 0 makes 0 of -0, which Go's integers do not have.
  return Number.isSafeInteger(value) ? value + 0 : undefined
}
