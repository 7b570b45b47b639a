/**
 * Millions of inputs and their failures: the body of main.ts and of the short run in CI. An input with a new outcome
 * (Target.examine) joins the inputs that are mutated; a failing input is shrunk. A seed of the fuzzer always gives the
 * same inputs. This file does not know processes and files.
 */
import { chanceOf, hashOf } from '../../src/simulator/chance.ts'
import { mutated, replaced } from './mutation.ts'
import type { Target } from './target.ts'

export type Failure = { readonly target: string; readonly message: string; readonly small: Uint8Array }
export type Tally = {
  readonly target: string
  readonly inputs: number
  readonly ms: number
  /** Different outcomes of the oracle, and the number of each. */
  readonly outcomes: ReadonlyMap<string, number>
  readonly failures: readonly Failure[]
}
export type Options = {
  readonly seed: number
  readonly inputs: number
  /** Time of performance.now() in milliseconds at which the run ends. */
  readonly until?: number
  /** Called before each input, for the thread that checks that the input ends. */
  readonly onInput?: (input: Uint8Array) => void
  readonly onFailure?: (failure: Failure) => void
}

/** Longest time in ms. An input takes a millisecond; an input that takes this long would stop an engine. */
export const LONGEST = 1_000
/** The same fault again shows nothing new. */
const MOST_FAILURES = 20
const MOST_KEPT = 4_000

export function fuzz(target: Target, options: Options): Tally {
  const { inputs, seed, until = Number.POSITIVE_INFINITY } = options
  const chance = chanceOf(hashOf(target.name, seed))
  const corpus = target.corpus()
  const kept = [...corpus]
  const outcomes = new Map<string, number>()
  const failures = new Map<string, Failure>()
  const began = performance.now()
  let count = 0
  const run = (input: Uint8Array) => {
    count++
    options.onInput?.(input)
    const outcome = outcomeOf(target, input)
    if (typeof outcome === 'string') {
      const before = outcomes.get(outcome) ?? 0
      outcomes.set(outcome, before + 1)
      if (before === 0 && kept.length < MOST_KEPT) kept.push(input)
      return
    }
    const kind = kindOf(outcome.message)
    if (failures.has(kind) || failures.size >= MOST_FAILURES) return
    const small = shrunk(target, input, kind, options.onInput)
    const failure = { target: target.name, message: messageOf(target, small) ?? outcome.message, small }
    failures.set(kind, failure)
    options.onFailure?.(failure)
  }
  for (const input of corpus) run(input)
  const material = { others: kept, words: target.words, largest: target.largest }
  while (count < inputs && performance.now() < until) {
    // The latest inputs have reached the newest code.
    const from = chance() < 0.3 && kept.length > 64 ? kept.length - 64 : 0
    const parent = kept[from + Math.floor(chance() * (kept.length - from))] ?? new Uint8Array(0)
    run(mutated(chance, parent, material))
  }
  const ms = performance.now() - began
  return { target: target.name, inputs: count, ms, outcomes, failures: [...failures.values()] }
}

/** Returns the message of a failure, `undefined` if the input passes now. */
export function messageOf(target: Target, input: Uint8Array): string | undefined {
  const outcome = outcomeOf(target, input)
  return typeof outcome === 'string' ? undefined : outcome.message
}

function outcomeOf(target: Target, input: Uint8Array): string | { readonly message: string } {
  const { longest = LONGEST } = target
  const began = performance.now()
  try {
    const outcome = target.examine(input)
    if (performance.now() - began < longest) return outcome
  } catch (error) {
    return { message: error instanceof Error ? `${error.name}: ${error.message}` : String(error) }
  }
  // Measures once more, by the CPU time of this process: another process may have used the processor.
  const before = process.cpuUsage()
  target.examine(input)
  const { user, system } = process.cpuUsage(before)
  const ms = (user + system) / 1_000
  return ms < longest ? 'slow' : { message: `It takes too long: ${Math.round(ms)} ms` }
}

/** Returns the common part of messages of one fault: the text without the input's content. */
const kindOf = (message: string): string =>
  message
    .replace(/\{.*|\[.*|".*/su, '')
    .replace(/\d+/g, '#')
    .slice(0, 80)

const MOST_ATTEMPTS = 3_000
/** Milliseconds: a slow input is slow in every attempt. */
const LONGEST_SHRINKING = 60_000

/**
 * Removes every part without which the input still fails: halves first, then less and less. The rest becomes plain
 * octets where it can.
 */
function shrunk(target: Target, input: Uint8Array, kind: string, onInput: Options['onInput']): Uint8Array {
  const until = performance.now() + LONGEST_SHRINKING
  let small = input
  let attempts = 0
  const fails = (candidate: Uint8Array): boolean => {
    if (attempts++ > MOST_ATTEMPTS || performance.now() > until) return false
    onInput?.(candidate)
    const message = messageOf(target, candidate)
    return message !== undefined && kindOf(message) === kind
  }
  for (let step = Math.ceil(input.length / 2); step >= 1; step = step === 1 ? 0 : Math.ceil(step / 2)) {
    for (let at = 0; at < small.length; ) {
      const candidate = replaced(small, at, step, new Uint8Array(0))
      if (fails(candidate)) small = candidate
      else at += step
    }
  }
  for (let at = 0; at < small.length; at++) {
    if (small[at] === 0) continue
    const candidate = small.slice()
    candidate[at] = 0
    if (fails(candidate)) small = candidate
  }
  return small
}
