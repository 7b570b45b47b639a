/** A target of the fuzzer: a pure function of octets with its own expectation of the result. */
export type Target = {
  readonly name: string
  /** Inputs at which mutation begins: read once. */
  readonly corpus: () => readonly Uint8Array[]
  /** Meaningful pieces of an input, to be inserted and swapped. */
  readonly words: readonly Uint8Array[]
  /** Largest input in octets. */
  readonly largest: number
  /** CPU time in milliseconds that an input may take, if that is more than a second. */
  readonly longest?: number
  /** Number of inputs of the short run, which is part of the tests: some two seconds of CPU. */
  readonly short: number
  /**
   * Throws Error when anything is wrong with the result. Returns the outcome in a few words: an input with a new
   * outcome is kept and mutated further. For this reason a target must not have many outcomes.
   */
  readonly examine: (input: Uint8Array) => string
}

/** Throws Error if the program or this oracle is wrong. `detail` is called only then. */
export function must(holds: boolean, what: string, detail: () => unknown = () => ''): asserts holds {
  if (!holds) throw new Error(`${what} ${short(detail())}`.trim())
}

export const same = (one: unknown, other: unknown): boolean => shown(one) === shown(other)

const shown = (value: unknown): string => JSON.stringify(value, plain) ?? 'undefined'
const plain = (_: string, value: unknown): unknown =>
  value instanceof Map || value instanceof Set ? [...value] : typeof value === 'bigint' ? String(value) : value

function short(detail: unknown): string {
  const text = typeof detail === 'string' ? detail : shown(detail)
  return text.length > 2_000 ? `${text.slice(0, 2_000)}…` : text
}

const encoder = new TextEncoder()
const decoder = new TextDecoder()
export const octets = (text: string): Uint8Array => encoder.encode(text)
export const textOf = (input: Uint8Array): string => decoder.decode(input)

/**
 * Returns the octets with others around them: code that reads beyond its input gives different results in two
 * surroundings.
 */
export function surrounded(input: Uint8Array, by: number): Uint8Array {
  const around = new Uint8Array(input.length + 64).fill(by)
  around.set(input, 24)
  return around.subarray(24, 24 + input.length)
}

/** Returns the first complaint without its quotations: another complaint is another place in the code. */
export const complaintOf = (problems: readonly { readonly message: string }[]): string =>
  (problems[0]?.message ?? '')
    .replace(/^.*(?:: |" as )/s, '')
    .replace(/"[^"]*"|[\d.:/]+/g, '')
    .slice(0, 30)
