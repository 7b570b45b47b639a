/**
 * Expands `~SEQ(VAR, start, step, end)`, its hexadecimal form `~SEQx`, and `~LST(VAR, a, b, c)`: a line is repeated for
 * each value. This file decides how many repetitions are allowed.
 */

export type Round = ReadonlyMap<string, string>
export type Rounds = { readonly rounds: readonly Round[] } | { readonly refused: string }

const MOST_ROUNDS = 65_536
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/

/** Returns the values of a sequence, or the text of the error. */
export function sequenceRounds(inner: string, hexadecimal: boolean): Rounds {
  const [name = '', ...rest] = inner.split(',').map((part) => part.trim())
  const numbers = rest.map(wholeNumber)
  const [one, two, three] = numbers
  if (!NAME.test(name) || one === undefined || numbers.length > 3 || numbers.includes(undefined))
    return { refused: 'expected ~SEQ(NAME, start, step, end) with integers' }
  const end = three ?? two ?? one
  const start = two === undefined ? (one < 0 ? -1 : 1) : one
  const step = three === undefined || two === undefined ? (start <= end ? 1 : -1) : two
  if (step === 0 || (end > start && step < 0) || (end < start && step > 0))
    return { refused: `expected a step that leads from ${start} to ${end}` }
  if (hexadecimal && (start < 0 || end < 0)) return { refused: 'hexadecimal numbers cannot be negative' }
  const count = Math.floor((end - start) / step) + 1
  if (count > MOST_ROUNDS) return { refused: `the line would be repeated ${count} times, the limit is ${MOST_ROUNDS}` }
  const rounds = Array.from({ length: count }, (_, index) => {
    const value = start + index * step
    return new Map([[name, value.toString(hexadecimal ? 16 : 10)]])
  })
  return { rounds }
}

/** Reads an integer as strtol does with base 0: decimal, hexadecimal with 0x, octal with 0. */
function wholeNumber(text: string): number | undefined {
  const [, sign, digits] = /^([-+]?)(0x[0-9a-fA-F]{1,12}|[0-9]{1,15})$/.exec(text) ?? []
  if (digits === undefined) return undefined
  const value = /^0[0-7]+$/.test(digits) ? Number.parseInt(digits, 8) : Number(digits)
  return sign === '-' ? -value : value
}

const LIST_EXPECTED = 'expected ~LST(NAME, value, ...) or ~LST({NAME, NAME}, {value, value}, ...)'

/** Returns the values of a list, or the text of the error. */
export function listRounds(inner: string): Rounds {
  const [names, ...values] = itemsOf(inner)
  if (names === undefined || values.length === 0 || !names.every((name) => NAME.test(name)))
    return { refused: LIST_EXPECTED }
  if (values.some((value) => value.length !== names.length)) return { refused: LIST_EXPECTED }
  if (values.length > MOST_ROUNDS)
    return { refused: `the line would be repeated ${values.length} times, the limit is ${MOST_ROUNDS}` }
  return { rounds: values.map((value) => new Map(names.map((name, index) => [name, value[index] ?? '']))) }
}

/** Splits a list at its commas. A list item in braces has several values. */
function itemsOf(inner: string): readonly (readonly string[])[] {
  return [...inner.matchAll(/\s*(?:\{([^{}]*)\}|([^,{}]*))\s*(?:,|$)/g)]
    .filter(([whole]) => whole !== '')
    .map(([, group, single = '']) =>
      group === undefined ? [single.trim()] : group.split(',').map((part) => part.trim()),
    )
}
