/** Go's printf for the verbs of the subset. Any other verb, a flag or a width is refused, because Go would print it. */
import { type Kind, kindOf, type TemplateValue, textOf } from './value.ts'

const VERBS: Readonly<Record<string, { readonly kinds: readonly Kind[]; readonly text: typeof textOf }>> = {
  s: { kinds: ['a string'], text: textOf },
  d: { kinds: ['a number'], text: textOf },
  q: { kinds: ['a string'], text: (value) => quoted(String(value)) },
  v: { kinds: ['a string', 'a number', 'a boolean', 'a list'], text: textOf },
  t: { kinds: ['a boolean'], text: textOf },
}

export type Printed = { readonly text: string } | { readonly problem: string }

/** Returns the text of a format and its arguments, or the problem. */
export function printf(format: string, given: readonly TemplateValue[]): Printed {
  const problems: string[] = []
  let used = 0
  const text = format.replace(/%(.?)/gsu, (found, verb: string) => {
    if (verb === '%') return '%'
    const value = given[used]
    used += 1
    const form = VERBS[verb]
    if (form === undefined) problems.push(`cannot use ${JSON.stringify(found)}, expected %s, %d, %q, %v, %t or %%`)
    else if (value === undefined) problems.push(`the format needs an argument for ${found}`)
    else if (!form.kinds.includes(kindOf(value))) problems.push(`cannot use ${kindOf(value)} for ${found}`)
    else {
      const printed = form.text(value)
      if (printed !== undefined) return printed
      problems.push(`cannot print a structure for ${found}`)
    }
    return ''
  })
  if (used < given.length) problems.push(`the format uses ${used} of ${given.length} arguments`)
  const [problem] = problems
  return problem === undefined ? { text } : { problem }
}

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
}
/** Characters that Go's strconv.Quote does not escape, except the quote and the backslash. */
const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u

/** Returns a string in quotes as Go writes it. */
function quoted(text: string): string {
  const characters = [...text].map((character) => {
    const short = ESCAPES[character]
    if (short !== undefined) return short
    if (PRINTABLE.test(character)) return character
    const code = character.codePointAt(0) ?? 0
    const hex = (digits: number) => code.toString(16).padStart(digits, '0')
    if (code < 0x20 || code === 0x7f) return `\\x${hex(2)}`
    return code > 0xffff ? `\\U${hex(8)}` : `\\u${hex(4)}`
  })
  return `"${characters.join('')}"`
}
