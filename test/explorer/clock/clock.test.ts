/**
 * The design of the guardian's clock, a thread that repeats the advertisements of an engine (docs/adr/0086). The tests
 * search every order of the steps of engine, clock and guardian in a model. The tests of the clock also show that the
 * model fails if any single rule of the design is left out.
 */
import { describe, expect, it } from 'vitest'
import { search } from './search.ts'
import { PRIORITY, RULES, type Rules, type Setting } from './state.ts'

const say = (setting: Setting) => JSON.stringify(setting)

describe('the model of the guardian clock with all rules', () => {
  const settings: Setting[] = [
    { orders: 2, news: 1 },
    { news: 2, orders: 1 },
    { forged: true, orders: 1 },
    { forged: true, faults: 1, kinds: ['engine'] },
    { faults: 1, kinds: ['engine'], says: PRIORITY.low },
    { faults: 1, kinds: ['engine'], news: 1 },
    { faults: 1, kinds: ['kill'], orders: 1, news: 1 },
    { faults: 1, kinds: ['clock'], orders: 2 },
    { faults: 1, kinds: ['clock'], news: 1 },
    { faults: 1, kinds: ['executor'], news: 1 },
    { faults: 1, kinds: ['sleep'], orders: 1 },
    { faults: 1, kinds: ['guardian'] },
    { faults: 1, kinds: ['node'] },
    { faults: 2, kinds: ['kill'], restart: true },
    { faults: 1, kinds: ['kill'], restart: true, news: 2 },
    { faults: 1, kinds: ['kill'], restart: true, orders: 2 },
    { faults: 2, kinds: ['kill', 'clock'], restart: true },
    { faults: 2, kinds: ['kill', 'executorInWait'], restart: true },
  ]
  it.each(settings.map((setting) => [say(setting), setting] as const))(
    'breaks no property in any order of steps: %s',
    (_, setting) => {
      const { problem, story, states } = search(setting, RULES)
      expect(problem, story.join('\n')).toBeUndefined()
      expect(states).toBeGreaterThan(300)
    },
  )
})

describe('the model of the guardian clock without a rule', () => {
  const mutants: [keyof Rules, Setting, RegExp][] = [
    ['withdraws', { orders: 1 }, /contradicts/],
    ['repeats', { faults: 1, kinds: ['clock'], orders: 1 }, /has heard priority 3 last/],
    ['checksAtSending', { faults: 1, kinds: ['node'] }, /does not have/],
    ['checksEachFrame', { faults: 1, kinds: ['clock'], orders: 1 }, /contradicts/],
    ['checksPlan', { faults: 1, kinds: ['kill'] }, /does not have/],
    ['noticesSleep', { faults: 1, kinds: ['sleep'] }, /after a sleep/],
    ['newsStop', { faults: 1, kinds: ['engine'], says: PRIORITY.low }, /two holders|has read news/],
    ['newsBound', { forged: true }, /no frame for/],
    ['asksForNews', { news: 1 }, /no frame for/],
    ['marksBefore', { news: 2 }, /has read news/],
    ['margin', { news: 2 }, /has read news/],
    ['executorWaits', { faults: 1, kinds: ['kill'] }, /does not have/],
    ['sharedTimer', { faults: 1, kinds: ['guardian'] }, /whose guardian stands still/],
    ['lease', { faults: 1, kinds: ['engine'] }, /after its lease/],
    ['newsEndsWait', { faults: 1, kinds: ['kill'], restart: true, news: 1 }, /no engine has read/],
    ['drainsAtEnd', { faults: 1, kinds: ['kill'], restart: true, news: 1 }, /no engine has read/],
    ['adoptionEnds', { faults: 1, kinds: ['kill'], restart: true }, /waits for an engine/],
    ['lendsTime', { faults: 2, kinds: ['kill', 'executorInWait'], restart: true }, /does not have/],
    ['spares', { faults: 1, kinds: ['kill'], restart: true }, /does not have/],
  ]
  it.each(mutants)('breaks a property without "%s", in a story of %j', (rule, setting, expected) => {
    const { problem, story } = search(setting, { ...RULES, [rule]: false }, 200_000)
    expect(problem, story.join('\n')).toMatch(expected)
  })
  it('is tested for every rule of the table', () => {
    expect(mutants.map(([rule]) => rule).sort()).toEqual(Object.keys(RULES).sort())
  })
})
