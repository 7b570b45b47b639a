/**
 * Visits every state that the clock's model can reach, those with the fewest steps first. In this order the first wrong
 * state has a shortest story.
 */
import { engineSteps } from './engine.ts'
import { clockSteps, executorSteps } from './guardian.ts'
import { lanSteps, surprises, tick } from './lan.ts'
import { problemOf } from './properties.ts'
import { FAULTS, type Fault, type Rules, type Setting, type State, type Step, start } from './state.ts'

export type Result = {
  readonly states: number
  /** Largest number of ticks with two holders (`two`) and with no holder (`none`), by the faults that had happened. */
  readonly longest: ReadonlyMap<string, { two: number; none: number }>
  readonly problem: string | undefined
  readonly story: readonly string[]
}

export function stepsOf(state: State, rules: Rules, kinds: readonly Fault[] = FAULTS): Step[] {
  const urgent = [
    ...lanSteps(state),
    ...engineSteps(state, rules),
    ...clockSteps(state, rules),
    ...executorSteps(state, rules),
  ]
  if (urgent.length === 0) urgent.push({ text: '--- half an interval', next: tick(state) })
  return [...urgent, ...surprises(state, kinds)]
}

export function search(setting: Setting, rules: Rules, limit = Number.POSITIVE_INFINITY): Result {
  const origin = start(setting)
  const seen = new Map<string, { from: string | undefined; text: string }>()
  const longest = new Map<string, { two: number; none: number }>()
  let layer: [string, State][] = [[keyOf(origin), origin]]
  seen.set(keyOf(origin), { from: undefined, text: '' })
  while (layer.length > 0 && seen.size < limit) {
    const next: typeof layer = []
    for (const [from, state] of layer) {
      for (const step of stepsOf(state, rules, setting.kinds)) {
        const key = keyOf(step.next)
        if (seen.has(key)) continue
        seen.set(key, { from, text: step.text })
        note(longest, step.next)
        const problem = problemOf(state, step)
        if (problem !== undefined) return { states: seen.size, longest, problem, story: storyOf(seen, key) }
        next.push([key, step.next])
      }
    }
    layer = next
  }
  return { states: seen.size, longest, problem: undefined, story: [] }
}

/** Code of each value of a state that is no number. It is larger than every number of a state, and fits into one byte. */
const codes = new Map<unknown, number>()
const NUMBERS = 64

function codeOf(value: unknown): number {
  if (typeof value === 'number') return value
  const known = codes.get(value)
  if (known !== undefined) return known
  const code = NUMBERS + codes.size
  codes.set(value, code)
  return code
}

/** Returns a text that is equal for equal states, with one character for each variable. */
function keyOf(state: State): string {
  const { engineQueue, seen, stopped } = state
  const key: number[] = []
  for (const name in state) {
    const value = state[name as keyof State]
    if (typeof value !== 'object') key.push(codeOf(value))
  }
  key.push(engineQueue.length, ...engineQueue)
  for (const value of Object.values(stopped)) key.push(codeOf(value))
  for (const value of Object.values(seen)) key.push(codeOf(value))
  return String.fromCharCode(...key)
}

function note(longest: Map<string, { two: number; none: number }>, { seen, two, none }: State): void {
  const name = JSON.stringify(seen)
  const before = longest.get(name) ?? { two: 0, none: 0 }
  if (two <= before.two && none <= before.none && longest.has(name)) return
  longest.set(name, { two: Math.max(before.two, two), none: Math.max(before.none, none) })
}

function storyOf(seen: Map<string, { from: string | undefined; text: string }>, last: string): string[] {
  const story: string[] = []
  for (let key: string | undefined = last; key !== undefined; ) {
    const entry = seen.get(key)
    if (entry === undefined || entry.from === undefined) break
    story.push(entry.text)
    key = entry.from
  }
  return story.reverse()
}
