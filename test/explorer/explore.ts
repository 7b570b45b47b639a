/**
 * Every world that can be reached in so many steps with so many faults, each looked at once, the nearest first: so the
 * first one that is wrong has a shortest story. Refuses to know what a world is, what can happen in it, and files.
 */
import { type Action, after, beginning, describe, ENGINE, type Machine, possible } from './actions.ts'
import { hashOf, textOf } from './identity.ts'
import { bounds, type Future, Futures } from './liveness.ts'
import { unsafe } from './overlap.ts'
import type { Overlap, Setting, World } from './world.ts'

export type Limits = {
  readonly depth: number
  /** Losses, delays, stalls, crashes, changes of priority, …: how many of them in one story. */
  readonly faults: number
  readonly states?: number
  /** Ask only whether two do what one should; else also what becomes of every world. */
  readonly safetyOnly?: boolean
}
export type Counterexample = { readonly what: string; readonly actions: readonly string[] }
export type Outcome = {
  readonly states: number
  readonly transitions: number
  /** How many steps all stories were followed for; less than wanted when `states` ended it. */
  readonly depth: number
  /** No world was left to look at: more steps would find nothing else. */
  readonly exhausted: boolean
  /** ms, the longest that were seen. */
  readonly longest: {
    readonly undisturbed: number
    readonly disturbed: number
    readonly answers: number
    readonly active: number
    readonly settled: number
  }
  readonly counterexample: Counterexample | undefined
}

/** Where a story begins. */
export function origin(setting: Setting, faults: number): World {
  let world = beginning(setting, 0)
  if (setting.boots) return { ...world, faults }
  for (const who of [0, 1, 2] as const) world = after(world, { kind: 'restart', who }, setting, ENGINE)
  for (const [, next] of new Futures(setting, ENGINE).told(world)) world = next
  return { ...world, faults }
}

export function explore(setting: Setting, limits: Limits, machine: Machine = ENGINE): Outcome {
  const futures = new Futures(setting, machine)
  const longest = { undisturbed: 0, disturbed: 0, answers: 0, active: 0, settled: 0 }
  const seen = new Set<number>()
  /** Of every world, in the order of `seen`: whence, and by what. */
  const whence: number[] = []
  const by: string[] = []
  let transitions = 0

  const wrong = (world: World): string | undefined => {
    for (const overlap of world.reigns) measure(longest, overlap)
    for (const overlap of world.answers) longest.answers = Math.max(longest.answers, overlap?.for ?? 0)
    const problem = unsafe(world, setting)
    if (problem !== undefined || limits.safetyOnly === true) return problem
    const future = futures.of(world)
    longest.active = Math.max(longest.active, future.active)
    longest.settled = Math.max(longest.settled, future.settled)
    return tooLong(future, bounds(setting, world))
  }
  const told = (what: string, last: number): Counterexample => {
    const actions: string[] = []
    for (let id = last; id > 0; id = whence[id] ?? 0) actions.push(by[id] ?? '')
    return { what, actions: actions.reverse() }
  }
  const outcome = (depth: number, exhausted: boolean, counterexample?: Counterexample): Outcome => ({
    ...{ states: seen.size, transitions, depth, exhausted, longest, counterexample },
  })

  const first = origin(setting, limits.faults)
  seen.add(hashOf(textOf(first)))
  whence.push(0)
  by.push('')
  let layer: (readonly [World, number])[] = [[first, 0]]
  for (let depth = 0; depth < limits.depth; depth++) {
    const following: (readonly [World, number])[] = []
    for (const [world, id] of layer) {
      for (const action of possible(world, setting)) {
        transitions++
        const next = after(world, action, setting, machine)
        const hash = hashOf(textOf(next))
        if (seen.has(hash)) continue
        const its = seen.size
        seen.add(hash)
        whence.push(id)
        by.push(interned(action))
        const problem = wrong(next)
        if (problem !== undefined) return outcome(depth, false, told(problem, its))
        following.push([next, its])
      }
      if (seen.size >= (limits.states ?? Number.POSITIVE_INFINITY)) return outcome(depth, false)
    }
    if (following.length === 0) return outcome(depth, true)
    layer = following
  }
  return outcome(limits.depth, false)
}

type Longest = { undisturbed: number; disturbed: number }

function measure(longest: Longest, overlap: Overlap | undefined): void {
  if (overlap === undefined) return
  const which = overlap.undisturbed ? 'undisturbed' : 'disturbed'
  longest[which] = Math.max(longest[which], overlap.for)
}

export function tooLong({ active, settled }: Future, limit: Future): string | undefined {
  if (active > limit.active)
    return `nobody is Active for ${active} ms after the last fault: at most ${limit.active} expected`
  if (settled > limit.settled)
    return `no rest for ${settled} ms after the last fault: at most ${limit.settled} expected`
  return undefined
}

const words = new Map<string, string>()
/** One string for each of the few that there are, not one for each world. */
function interned(action: Action): string {
  const text = describe(action)
  const word = words.get(text)
  if (word !== undefined) return word
  words.set(text, text)
  return text
}
