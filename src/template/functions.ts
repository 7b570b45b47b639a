/** The functions that a template can call. `and` and `or` are not here, because they do not evaluate all arguments. */
import { printf } from './printf.ts'
import { isList, isTrue, kindOf, octetsOf, type TemplateValue, textOf } from './value.ts'

/** A result, or the reason why the function cannot use its arguments. */
export type Result = { readonly value: TemplateValue } | { readonly problem: string }

type Values = readonly TemplateValue[]
type TemplateFunction = {
  readonly least: number
  readonly most: number
  readonly call: (first: TemplateValue, rest: Values) => Result
}

const problem = (text: string): Result => ({ problem: text })
const value = (result: TemplateValue): Result => ({ value: result })

const FUNCTIONS: Readonly<Record<string, TemplateFunction>> = {
  not: { least: 1, most: 1, call: (first) => value(!isTrue(first)) },
  eq: { least: 2, most: Number.POSITIVE_INFINITY, call: equalsAny },
  ne: { least: 2, most: 2, call: (first, rest) => negated(equalsAny(first, rest)) },
  lt: { least: 2, most: 2, call: ordered((order) => order < 0) },
  le: { least: 2, most: 2, call: ordered((order) => order <= 0) },
  gt: { least: 2, most: 2, call: ordered((order) => order > 0) },
  ge: { least: 2, most: 2, call: ordered((order) => order >= 0) },
  len: { least: 1, most: 1, call: lengthOf },
  index: { least: 1, most: Number.POSITIVE_INFINITY, call: indexOf },
  print: { least: 0, most: Number.POSITIVE_INFINITY, call: (first, rest) => printed([first, ...rest]) },
  println: {
    least: 0,
    most: Number.POSITIVE_INFINITY,
    call: (first, rest) => printed([first, ...rest], ' ', '\n'),
  },
  printf: { least: 1, most: Number.POSITIVE_INFINITY, call: formatted },
}

/** Names of the functions that do not evaluate all their arguments. */
export const SHORT_CIRCUITS = ['and', 'or'] as const

export const FUNCTION_NAMES: ReadonlySet<string> = new Set([...SHORT_CIRCUITS, ...Object.keys(FUNCTIONS)])

/** Calls a function of FUNCTION_NAMES that evaluates all its arguments. */
export function callFunction(name: string, given: Values): Result {
  const found = FUNCTIONS[name]
  if (found === undefined) return problem('no such function')
  const [first, ...rest] = given
  if (given.length < found.least || given.length > found.most) {
    const most = found.most === Number.POSITIVE_INFINITY ? 'or more' : `to ${found.most}`
    return problem(`${given.length} arguments, expected ${found.least} ${most}`)
  }
  return first === undefined ? noArguments(name) : found.call(first, rest)
}

const noArguments = (name: string): Result => value(name === 'println' ? '\n' : '')

function equalsAny(first: TemplateValue, rest: Values): Result {
  for (const other of rest) {
    if (typeof first === 'object' || typeof other === 'object') return incomparable(first, other)
    if (typeof first !== typeof other) return incomparable(first, other)
    if (first === other) return value(true)
  }
  return value(false)
}

const negated = (result: Result): Result => ('problem' in result ? result : value(!isTrue(result.value)))

const incomparable = (first: TemplateValue, other: TemplateValue): Result =>
  problem(`cannot compare ${kindOf(first)} with ${kindOf(other)}`)

function ordered(holds: (order: number) => boolean): TemplateFunction['call'] {
  return (first, [second]) => {
    if (typeof first === 'number' && typeof second === 'number') return value(holds(first - second))
    if (typeof first === 'string' && typeof second === 'string') return value(holds(orderOf(first, second)))
    return second === undefined ? problem('an argument is missing') : incomparable(first, second)
  }
}

/** Compares two strings by their octets in UTF-8, as Go does. */
function orderOf(first: string, second: string): number {
  const [left, right] = [octetsOf(first), octetsOf(second)]
  const at = left.findIndex((octet, index) => octet !== right[index])
  return at === -1 ? left.length - right.length : (left[at] ?? 0) - (right[at] ?? -1)
}

function lengthOf(first: TemplateValue): Result {
  if (typeof first === 'string') return value(octetsOf(first).length)
  return isList(first) ? value(first.length) : problem(`cannot use ${kindOf(first)}, expected a string or a list`)
}

function indexOf(first: TemplateValue, rest: Values): Result {
  let item = first
  for (const index of rest) {
    const items = typeof item === 'string' ? octetsOf(item) : item
    if (!isList(items)) return problem(`cannot take an element of ${kindOf(item)}, expected a list or a string`)
    if (typeof index !== 'number') return problem(`cannot use ${kindOf(index)} as an index, expected a number`)
    const found = items[index]
    if (found === undefined) return problem(`cannot use index ${index}, the length is ${items.length}`)
    item = found
  }
  return value(item)
}

/** Returns the text of values. Without a separator, a space stands between two values that are no strings. */
function printed(values: Values, separator?: string, end = ''): Result {
  let text = ''
  for (const [index, each] of values.entries()) {
    const part = textOf(each)
    if (part === undefined) return problem('cannot print a structure')
    const before = values[index - 1]
    const isSpaced = before !== undefined && typeof before !== 'string' && typeof each !== 'string'
    if (before !== undefined) text += separator ?? (isSpaced ? ' ' : '')
    text += part
  }
  return value(text + end)
}

function formatted(format: TemplateValue, rest: Values): Result {
  if (typeof format !== 'string') return problem(`cannot use ${kindOf(format)} as a format, expected a string`)
  const result = printf(format, rest)
  return 'problem' in result ? result : value(result.text)
}
