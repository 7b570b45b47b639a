/**
 * Visits every world that can be reached with a number of steps and a number of faults. Every world is visited once;
 * worlds with the fewest steps come first. In this order the first wrong world has a shortest story. This file does not
 * know what a world is and what can happen in it, and accesses no files.
 */
import { type Action, after, beginning, describe, ENGINE, possible } from './actions.ts'
import { settled } from './commuting.ts'
import { Parts, Worlds } from './identity.ts'
import { bounds, type Future, Futures } from './liveness.ts'
import type { Machine } from './node-step.ts'
import { unsafe } from './overlap.ts'
import { Column } from './table.ts'
import type { Overlap, Setting, World } from './world.ts'

export type Limits = {
  readonly depth: number
  /** Largest number of faults in one story: losses, delays, stalls, crashes, changes of priority, … */
  readonly faults: number
  readonly states?: number
  /**
   * True to check only that two nodes are never Active together for too long. By default the future of every world is
   * checked too.
   */
  readonly safetyOnly?: boolean
  /** True to try also those orders of deliveries that lead to the same world, to show that they make no difference. */
  readonly everyOrder?: boolean
}
export type Counterexample = { readonly what: string; readonly actions: readonly string[] }
export type Outcome = {
  readonly states: number
  readonly transitions: number
  /**
   * Number of steps for which all stories were followed. This number of steps is smaller than the wanted number if the
   * limit `states` ended the exploration.
   */
  readonly depth: number
  /** True if no world was left to visit, so that more steps would find nothing else. */
  readonly exhausted: boolean
  /** Longest times that were observed, in ms. */
  readonly longest: {
    readonly undisturbed: number
    readonly disturbed: number
    readonly answers: number
    readonly active: number
    readonly settled: number
  }
  readonly counterexample: Counterexample | undefined
}

/** Returns the world at the beginning of every story. */
export function origin(setting: Setting, faults: number): World {
  let world = beginning(setting, 0)
  if (setting.boots) return { ...world, faults }
  for (const who of [0, 1, 2] as const) world = after(world, { kind: 'restart', who }, setting, ENGINE)
  for (const [, next] of new Futures(setting, ENGINE).told(world)) world = next
  return { ...world, faults }
}

export function explore(setting: Setting, limits: Limits, machine: Machine = ENGINE): Outcome {
  const parts = new Parts()
  const worlds = new Worlds(parts)
  const futures = new Futures(setting, machine, parts)
  const longest = { undisturbed: 0, disturbed: 0, answers: 0, active: 0, settled: 0 }
  /** Number of the world before each world. `words` has the number of the action between the two worlds. */
  const whence = new Column()
  const by = new Column()
  let transitions = 0

  /** Returns the actions that the explorer plays before all others in a world. */
  const first = (world: World) => (limits.everyOrder === true ? [] : settled(world, setting, machine))
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
  /** Returns the story of a world up to `action`, including the actions that were played before all others. */
  const told = (what: string, last: number, action: Action): Counterexample => {
    const chosen = [action]
    for (let id = last; id > 0; id = whence.at(id)) chosen.push(words[by.at(id)] ?? action)
    const actions: string[] = []
    let world = worlds.at(0)
    for (const each of chosen.reverse()) {
      actions.push(describe(each))
      world = after(world, each, setting, machine)
      for (const [sole, then] of first(world)) {
        actions.push(describe(sole))
        world = then
      }
    }
    return { what, actions }
  }
  const outcome = (depth: number, exhausted: boolean, counterexample?: Counterexample): Outcome => ({
    ...{ states: worlds.size, transitions, depth, exhausted, longest, counterexample },
  })

  worlds.numberOf(origin(setting, limits.faults))
  whence.push(0)
  by.push(0)
  // Worlds with the same number of steps have consecutive numbers.
  let begin = 0
  for (let depth = 0; depth < limits.depth; depth++) {
    const end = worlds.size
    for (let id = begin; id < end; id++) {
      const world = worlds.at(id)
      for (const action of possible(world, setting)) {
        transitions++
        const before = worlds.size
        let next = after(world, action, setting, machine)
        let problem: string | undefined
        for (const [, then] of first(next)) {
          transitions++
          problem ??= unsafe(next, setting)
          next = then
        }
        const its = worlds.numberOf(next)
        if (its === before) {
          whence.push(id)
          by.push(wordOf(action))
          problem ??= wrong(worlds.at(its))
        }
        if (problem !== undefined) return outcome(depth, false, told(problem, id, action))
      }
      if (worlds.size >= (limits.states ?? Number.POSITIVE_INFINITY)) return outcome(depth, false)
    }
    if (worlds.size === end) return outcome(depth, true)
    begin = end
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

/** All actions that have occurred, each once. The number of such actions is small. */
const words: Action[] = []
const places = new Map<string, number>()
function wordOf(action: Action): number {
  const text = describe(action)
  const known = places.get(text)
  if (known !== undefined) return known
  places.set(text, words.length)
  return words.push(action) - 1
}
