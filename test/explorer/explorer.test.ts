/**
 * Tests everything that can happen to three nodes within some steps, with the real state machine. Two nodes are never
 * Active together for longer than one exchange. From every world a node becomes Active in time. The explorer also has
 * to find wrong state machines. `make explore` tries more steps; the numbers of worlds are in docs/explorer.md.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Event } from '../../src/vrrp/event.ts'
import { extendedStep as step } from '../../src/vrrp/extensions/index.ts'
import type { State } from '../../src/vrrp/state.ts'
import { type Millis, millis } from '../../src/wire/units.ts'
import { ENGINE } from './actions.ts'
import { explore } from './explore.ts'
import { inFrame } from './frame.ts'
import { MUTANTS } from './mutants.ts'
import type { Machine } from './node-step.ts'
import { SETTINGS, settingCalled } from './settings.ts'
import { replay, storyOf } from './story.ts'
import type { Setting } from './world.ts'

/**
 * Number of steps in CI, and of faults among them. A setting that begins without a running node needs more steps first.
 */
const DEPTH = 8
const FAULTS = 2
const depthOf = ({ boots }: Setting) => (boots ? DEPTH - 2 : DEPTH)

const named = (settings: readonly Setting[]) =>
  settings.filter(({ large }) => !large).map((setting) => [setting.name, setting] as const)
/** Time limit of a test in ms. A test needs a second or two of CPU time, on a machine that may be busy. */
const PATIENCE = 180_000

test.each(named(SETTINGS))(
  '%s: no reachable world breaks a property',
  (_, setting) => {
    const { counterexample, states } = explore(setting, { depth: depthOf(setting), faults: FAULTS })
    expect(counterexample && storyOf(setting, counterexample)).toBeUndefined()
    // An explorer that takes no step would find nothing wrong either.
    expect(states).toBeGreaterThan(2_000)
  },
  PATIENCE,
)

test.each(named(SETTINGS.filter(({ boots }) => !boots)))(
  '%s: no world breaks a property after any single fault, in any number of steps and any order of deliveries',
  (_, setting) => {
    const limits = { depth: 200, faults: 1, states: 100_000 }
    const { counterexample, exhausted, longest, states } = explore(setting, limits)
    expect(counterexample && storyOf(setting, counterexample)).toBeUndefined()
    expect(exhausted, `whether all worlds were visited, after ${states} worlds`).toBe(true)
    const all = explore(setting, { ...limits, everyOrder: true })
    expect(all.longest, 'longest times if orders without a visible difference are also tried').toEqual(longest)
    expect(all.states).toBeGreaterThan(states)
  },
  PATIENCE,
)

/**
 * For each mutant: the setting in which the explorer finds it, the largest number of steps for that, and the text of
 * the finding.
 */
const SAFETY: readonly (readonly [string, string, number, RegExp])[] = [
  ['an Active that hears nobody', 'rfc9568-distinct', 9, /are Active and hear each other/],
  ['an Active that never yields to an equal', 'holdfast-equal', 8, /are Active and hear each other/],
  ['a router that leaves its addresses', 'holdfast-distinct', 7, /answers in/],
  ['a router that leaves and stays', 'holdfast-distinct', 9, /answer for/],
  ['a router that forgets what is claimed', 'holdfast-claims', 10, /answers in/],
]
const LIVENESS: typeof SAFETY = [
  ['a Backup that never expires', 'holdfast-distinct', 2, /nobody is Active/],
  ['a Backup that does not follow', 'holdfast-distinct', 11, /no rest/],
  ['an Active that hears nobody', 'rfc9568-distinct', 5, /no rest/],
  ['a Backup that learns no interval', 'holdfast-unlike', 2, /no rest/],
  ['a Backup that waits for ever', 'holdfast-preempt-delay', 9, /no rest/],
]

describe('the explorer finds a wrong state machine in which', () => {
  const found = (name: string, where: string, steps: number, what: RegExp, safetyOnly: boolean) => {
    const machine = MUTANTS[name]
    if (machine === undefined) throw new Error(`Cannot find mutant "${name}"`)
    const setting = settingCalled(where)
    const { counterexample } = explore(setting, { depth: steps, faults: FAULTS, safetyOnly }, machine)
    if (counterexample === undefined) throw new Error(`Not found within ${steps} steps`)
    const story = storyOf(setting, counterexample, machine)
    expect(counterexample.what, story).toMatch(what)
    expect(replay(story, machine), story).toBeDefined()
  }
  test.each(SAFETY)('two nodes are Active together, because of %s', (name, where, steps, what) =>
    found(name, where, steps, what, true),
  )
  test.each(LIVENESS)(
    'no node becomes Active, or the world does not come to rest, because of %s',
    (name, where, steps, what) => found(name, where, steps, what, false),
  )
})

const STORIES = join(import.meta.dirname, 'stories')

test.each(readdirSync(STORIES))('the story %s no longer ends in a wrong world', (file) => {
  const text = readFileSync(join(STORIES, file), 'utf8')
  expect(replay(text), text).toBeUndefined()
})

/**
 * Worlds are compared with now = 0 and without old times. For this comparison the state machine must give the same
 * result for a state and for its canonical form, at every time of day.
 */
test('the state machine has the same outcome for a state and its canonical form', () => {
  let asked = 0
  const doubting =
    (setting: Setting): Machine =>
    (state, event, parameters, now) => {
      const result = step(state, event, parameters, now)
      asked++
      const [later] = step(shifted(state), shiftedEvent(event), parameters, plusShift(now))
      expect(inFrame(later, SHIFT, setting)).toEqual(inFrame(result[0], 0, setting))
      return result
    }
  const names = [
    'holdfast-equal-peers',
    'holdfast-preempt-delay',
    'holdfast-unlike',
    'holdfast-claims',
    'keepalived-equal',
  ]
  for (const name of [...names, 'rfc9568-distinct']) {
    const setting = settingCalled(name)
    explore(setting, { depth: 6, faults: FAULTS, states: 5_000 }, doubting(setting))
  }
  expect(asked).toBeGreaterThan(2_000)
  expect(ENGINE).toBe(step)
})

/** Shift of all times in ms: a power of two, so that no time is rounded. */
const SHIFT = 4_096
const plusShift = (at: Millis): Millis => millis(at + SHIFT)

function shifted(state: State): State {
  return moved(state)
}
function shiftedEvent(event: Event): Event {
  return moved(event)
}

/** Returns true if the key of a state names a moment: the key ends in At, or is one of these names. */
const isMoment = (key: string): boolean => /(^at|At)$/.test(key) || key === 'until' || key === 'since'
function moved<T>(value: T): T {
  return JSON.parse(JSON.stringify(value), (key, each) => {
    if (!isMoment(key)) return each
    if (typeof each === 'number') return each + SHIFT
    return Array.isArray(each) ? each.map((at: number) => at + SHIFT) : each
  })
}
