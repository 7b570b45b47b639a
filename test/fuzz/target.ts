/** What is fuzzed: a pure function of octets with an opinion of its own on what must come out. */
export type Target = {
  readonly name: string
  /** Where mutation begins: read once. */
  readonly corpus: () => readonly Uint8Array[]
  /** Pieces that mean something there, to be put in and to be swapped. */
  readonly words: readonly Uint8Array[]
  /** Octets of an input. */
  readonly largest: number
  /** Milliseconds of CPU that an input may take, where that is more than a second. */
  readonly longest?: number
  /** Inputs of the short run, which is part of the tests: some two seconds of CPU. */
  readonly short: number
  /**
   * Throws Error when anything is wrong with what came out. The answer says in a few words what became of the input: one
   * whose words are new is kept and mutated further. So there must not be many of them.
   */
  readonly examine: (input: Uint8Array) => string
}

/** Throws Error: the program is wrong, or this oracle. `detail` is asked for only then. */
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

/** The octets with others around them: what reads beyond its input answers differently in two surroundings. */
export function surrounded(input: Uint8Array, by: number): Uint8Array {
  const around = new Uint8Array(input.length + 64).fill(by)
  around.set(input, 24)
  return around.subarray(24, 24 + input.length)
}

/** What the first complaint wants, without what it quotes: another one is another place in the code. */
export const complaintOf = (problems: readonly { readonly message: string }[]): string =>
  (problems[0]?.message ?? '')
    .replace(/^.*(?:: |" as )/s, '')
    .replace(/"[^"]*"|[\d.:/]+/g, '')
    .slice(0, 30)
