/**
 * The values of a template. A structure is what Go calls a struct: it has the fields that it has, and any other field is
 * an error. Go's maps, pointers without a value, and floating-point numbers are not in the subset.
 */

export type Structure = { readonly [field: string]: TemplateValue }
export type TemplateValue = string | number | boolean | readonly TemplateValue[] | Structure

export type Kind = 'a string' | 'a number' | 'a boolean' | 'a list' | 'a structure'

/** Returns the kind of a value, as errors name it. */
export function kindOf(value: TemplateValue): Kind {
  if (typeof value === 'string') return 'a string'
  if (typeof value === 'number') return 'a number'
  if (typeof value === 'boolean') return 'a boolean'
  return isList(value) ? 'a list' : 'a structure'
}

export const isList = (value: TemplateValue): value is readonly TemplateValue[] => Array.isArray(value)

/** Tells whether `if` and `with` take a value for true. An empty string, 0, false and an empty list are false. */
export function isTrue(value: TemplateValue): boolean {
  if (typeof value === 'object') return !isList(value) || value.length > 0
  return value !== '' && value !== 0 && value !== false
}

/** Returns a value as Go prints it; `undefined` for a structure, whose text is not in the subset. */
export function textOf(value: TemplateValue): string | undefined {
  if (typeof value !== 'object') return String(value)
  if (!isList(value)) return undefined
  const parts = value.map(textOf)
  return parts.includes(undefined) ? undefined : `[${parts.join(' ')}]`
}

/** Returns the octets of a text in UTF-8. Go counts and indexes them, and compares strings by them. */
export const octetsOf = (text: string): readonly number[] =>
  [...text].flatMap((character) => {
    const code = character.codePointAt(0) ?? 0
    const rest = (shift: number) => 0x80 | ((code >> shift) & 0x3f)
    if (code < 0x80) return [code]
    if (code < 0x800) return [0xc0 | (code >> 6), rest(0)]
    if (code < 0x1_0000) return [0xe0 | (code >> 12), rest(6), rest(0)]
    return [0xf0 | (code >> 18), rest(12), rest(6), rest(0)]
  })
