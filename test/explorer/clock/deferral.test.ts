/**
 * Deferred reading on a Backup (docs/adr/0102). The tests search every order of the steps of the kernel, the event loop
 * and the other routers in a model. They also show that the model fails if any single rule of the design is left out.
 */
import { describe, expect, it } from 'vitest'
import { DEFERRAL, type DeferralRules, type DeferralSetting, searchDeferral } from './deferral.ts'

describe('the model of deferred reading with all rules', () => {
  const settings: DeferralSetting[] = [
    {},
    { news: 2 },
    { news: 1, orders: 1 },
    { orders: 2 },
    { stops: 1, news: 1 },
    { stops: 2 },
  ]
  it.each(settings.map((setting) => [JSON.stringify(setting), setting] as const))(
    'leaves no news unread, and takes over in time and never too early, in any order of steps: %s',
    (_, setting) => {
      const { deferred, problem, states, story } = searchDeferral(setting, DEFERRAL)
      expect(problem, story.join('\n')).toBeUndefined()
      expect(states).toBeGreaterThan(100)
      expect(deferred).toBeGreaterThan(30)
    },
  )
})

describe('the model of deferred reading without a rule', () => {
  const mutants: [keyof DeferralRules, DeferralSetting, RegExp][] = [
    ['pollsAgain', { news: 1 }, /news unread/],
    ['settles', { news: 1 }, /news unread/],
    ['endsWithWatch', { orders: 1 }, /news unread/],
    ['drains', {}, /although the Active was heard/],
    ['countsFromKernel', {}, /not taken over in time/],
  ]
  it.each(mutants)('breaks a property without "%s", in a story of %j', (rule, setting, expected) => {
    const { problem, story } = searchDeferral(setting, { ...DEFERRAL, [rule]: false })
    expect(problem, story.join('\n')).toMatch(expected)
  })
  it('is tested for every rule', () => {
    expect(mutants.map(([rule]) => rule).sort()).toEqual(Object.keys(DEFERRAL).sort())
  })
})
