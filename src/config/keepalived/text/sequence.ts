/**
 * `~SEQ(VAR, start, step, end)`, its hexadecimal twin `~SEQx` and `~LST(VAR, a, b, c)`: what a line is repeated for.
 * Decided here: how often at most. This file does not know what is done with each round.
 */

export type Round = ReadonlyMap<string, string>
export type Rounds = { readonly rounds: readonly Round[] } | { readonly refused: string }

const MOST_ROUNDS = 65_536
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/

export function sequenceRounds(inner: string, hexadecimal: boolean): Rounds {
  const [name = '', ...rest] = inner.split(',').map((part) => part.trim())
  const numbers = rest.map(wholeNumber)
  const [one, two, three] = numbers
  if (!NAME.test(name) || one === undefined || numbers.length > 3 || numbers.includes(undefined))
    return { refused: '~SEQ(NAME, start, step, end) with whole numbers wanted' }
  const end = three ?? two ?? one
  const start = two === undefined ? (one < 0 ? -1 : 1) : one
  const step = three === undefined || two === undefined ? (start <= end ? 1 : -1) : two
  if (step === 0 || (end > start && step < 0) || (end < start && step > 0))
    return { refused: `a step wanted that leads from ${start} to ${end}` }
  if (hexadecimal && (start < 0 || end < 0)) return { refused: 'hexadecimal numbers cannot be negative' }
  const count = Math.floor((end - start) / step) + 1
  if (count > MOST_ROUNDS) return { refused: `at most ${MOST_ROUNDS} repetitions wanted, and this is ${count}` }
  const rounds = Array.from({ length: count }, (_, index) => {
    const value = start + index * step
    return new Map([[name, value.toString(hexadecimal ? 16 : 10)]])
  })
  return { rounds }
}

/** As strtol with base 0: decimal, 0x hexadecimal, 0 octal. */
function wholeNumber(text: string): number | undefined {
  const [, sign, digits] = /^([-+]?)(0x[0-9a-fA-F]{1,12}|[0-9]{1,15})$/.exec(text) ?? []
  if (digits === undefined) return undefined
  const value = /^0[0-7]+$/.test(digits) ? Number.parseInt(digits, 8) : Number(digits)
  return sign === '-' ? -value : value
}

const LIST_WANTED = '~LST(NAME, value, ...) or ~LST({NAME, NAME}, {value, value}, ...) wanted'

export function listRounds(inner: string): Rounds {
  const [names, ...values] = itemsOf(inner)
  if (names === undefined || values.length === 0 || !names.every((name) => NAME.test(name)))
    return { refused: LIST_WANTED }
  if (values.some((value) => value.length !== names.length)) return { refused: LIST_WANTED }
  if (values.length > MOST_ROUNDS) return { refused: `at most ${MOST_ROUNDS} repetitions wanted` }
  return { rounds: values.map((value) => new Map(names.map((name, index) => [name, value[index] ?? '']))) }
}

/** Separated by commas; those in braces are several at once. */
function itemsOf(inner: string): readonly (readonly string[])[] {
  return [...inner.matchAll(/\s*(?:\{([^{}]*)\}|([^,{}]*))\s*(?:,|$)/g)]
    .filter(([whole]) => whole !== '')
    .map(([, group, single = '']) =>
      group === undefined ? [single.trim()] : group.split(',').map((part) => part.trim()),
    )
}
