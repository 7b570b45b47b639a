/**
 * Visits every state that the clock's model can reach, those with the fewest steps first. So the first wrong state has
 * a shortest story.
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
  let layer: State[] = [origin]
  seen.set(keyOf(origin), { from: undefined, text: '' })
  while (layer.length > 0 && seen.size < limit) {
    const next: State[] = []
    for (const state of layer) {
      const from = keyOf(state)
      for (const step of stepsOf(state, rules, setting.kinds)) {
        const key = keyOf(step.next)
        if (seen.has(key)) continue
        seen.set(key, { from, text: step.text })
        note(longest, step.next)
        const problem = problemOf(state, step)
        if (problem !== undefined) return { states: seen.size, longest, problem, story: storyOf(seen, key) }
        next.push(step.next)
      }
    }
    layer = next
  }
  return { states: seen.size, longest, problem: undefined, story: [] }
}

const keyOf = ({ stopped, seen, ...rest }: State): string => {
  const flags = [...Object.values(stopped), ...Object.values(seen)].map(Number).join('')
  return `${Object.values(rest).join()},${flags}`
}

function note(longest: Map<string, { two: number; none: number }>, { seen, two, none }: State): void {
  const name = JSON.stringify(seen)
  const before = longest.get(name) ?? { two: 0, none: 0 }
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
