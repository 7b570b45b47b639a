/**
 * One input out of another: structured mutation, because the only coverage-guided fuzzer for Node needs a newer C
 * library than Debian 12 has (docs/fuzzing.md). This file decides the kinds of change and how often each comes. This
 * file does not know what octets mean, apart from the words that its caller gives it.
 */
import { between, type Chance, pick } from '../../src/simulator/chance.ts'

export type Material = {
  /** Other inputs, parts of which are inserted. */
  readonly others: readonly Uint8Array[]
  readonly words: readonly Uint8Array[]
  readonly largest: number
}

/** Numbers at the ends of ranges, and their neighbours. */
const EDGES = [0, 1, 2, 3, 4, 8, 15, 16, 20, 31, 32, 64, 100, 127, 128, 192, 224, 254, 255] as const
const WIDE = [0, 1, 4, 7, 8, 15, 16, 17, 255, 256, 4095, 4096, 32767, 32768, 65535] as const
const DIGITS = ['0', '1', '-1', '9', '255', '256', '65536', '4294967296', '1e9', '0x10', '00', '1.5'] as const

export function mutated(chance: Chance, input: Uint8Array, material: Material): Uint8Array {
  let result = input
  // Mostly a few changes: an input that stays nearly whole gets further.
  const changes = 1 + Math.floor(chance() * chance() * 8)
  for (let i = 0; i < changes; i++) result = change(chance, result, material)
  return result.length > material.largest ? result.slice(0, material.largest) : result
}

function change(chance: Chance, input: Uint8Array, { others, words }: Material): Uint8Array {
  const at = Math.floor(chance() * (input.length + 1))
  // A length field is near the beginning of its data and near the beginning of the input.
  const near = chance() < 0.3 ? Math.floor(at / 8) : at
  switch (between(chance, 0, 12)) {
    case 0:
      return put(input, near, Uint8Array.of((input[near] ?? 0) ^ (1 << between(chance, 0, 7))))
    case 1:
      return put(input, near, Uint8Array.of(pick(chance, EDGES)))
    case 2:
      return put(input, near, Uint8Array.of(between(chance, 0, 255)))
    case 3: {
      const value = pick(chance, WIDE)
      return put(input, near, chance() < 0.5 ? Uint8Array.of(value >> 8, value) : Uint8Array.of(value, value >> 8))
    }
    case 4:
      return put(input, near, Uint8Array.of((input[near] ?? 0) + pick(chance, [-4, -2, -1, 1, 2, 4] as const)))
    case 5:
      return replaced(input, at, size(chance, input.length), new Uint8Array(0))
    case 6:
      return input.slice(0, at)
    case 7:
      return replaced(input, at, 0, input.slice(at, at + size(chance, input.length)))
    case 8: {
      const to = Math.floor(chance() * (input.length + 1))
      return replaced(input, to, 0, input.slice(at, at + size(chance, input.length)))
    }
    case 9: {
      const other = others[Math.floor(chance() * others.length)] ?? input
      const from = Math.floor(chance() * (other.length + 1))
      return chance() < 0.5
        ? replaced(input, at, input.length, other.slice(from))
        : replaced(input, at, 0, other.slice(from, from + size(chance, other.length)))
    }
    case 10:
      return replaced(input, at, 0, wordOf(chance, words))
    case 11:
      return replaced(input, at, size(chance, 12), wordOf(chance, words))
    default:
      return numberChanged(chance, input, at)
  }
}

/** Returns a number that is mostly small. */
const size = (chance: Chance, most: number): number =>
  chance() < 0.7 ? between(chance, 1, 8) : Math.floor(chance() * chance() * most) + 1

const wordOf = (chance: Chance, words: readonly Uint8Array[]): Uint8Array =>
  words[Math.floor(chance() * words.length)] ?? Uint8Array.of(between(chance, 0, 255))

function put(input: Uint8Array, at: number, octets: Uint8Array): Uint8Array {
  const result = input.slice()
  if (at < input.length) result.set(octets.subarray(0, input.length - at), at)
  return result
}

export function replaced(input: Uint8Array, at: number, removed: number, instead: Uint8Array): Uint8Array {
  const rest = input.subarray(Math.min(input.length, at + removed))
  const result = new Uint8Array(at + instead.length + rest.length)
  result.set(input.subarray(0, at))
  result.set(instead, at)
  result.set(rest, at + instead.length)
  return result
}

const isDigit = (octet: number | undefined): boolean => octet !== undefined && octet >= 0x30 && octet <= 0x39

/** Replaces the next number in digits by another number. */
function numberChanged(chance: Chance, input: Uint8Array, from: number): Uint8Array {
  let at = from
  while (at < input.length && !isDigit(input[at])) at++
  let end = at
  while (isDigit(input[end])) end++
  const digits = pick(chance, DIGITS)
  return replaced(
    input,
    at,
    end - at,
    Uint8Array.from(digits, (digit) => digit.charCodeAt(0)),
  )
}
