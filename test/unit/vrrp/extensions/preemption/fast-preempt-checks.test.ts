/**
 * Reasons for which a Backup does not replace a lower Active: health checks that have to confirm the advantage
 * (docs/adr/0025), the margin, and minHold, each reported once. Priority 128, of which checks add 50.
 */
import { describe, expect, test } from 'vitest'
import type { Effect } from '../../../../../src/vrrp/effect.ts'
import type { Event } from '../../../../../src/vrrp/event.ts'
import { extendedStep as step } from '../../../../../src/vrrp/extensions/index.ts'
import type { Member } from '../../../../../src/vrrp/extensions/sync-group/member.ts'
import { stepGroup } from '../../../../../src/vrrp/extensions/sync-group/sync-group.ts'
import { ABOVE, backup, heard, ms, parameters, priorityFrom, tick, tickAfterLoss } from '../../fsm-fixture.ts'

const lifted = parameters('holdfast', { assured: 78 })
const following = backup({ active: { source: ABOVE, priority: 200, heardAt: ms(10_000) }, activeDownAt: ms(13_500) })
const refusal: Effect = { kind: 'refused', reason: 'lower-priority', source: ABOVE }
const answeredWith = (assured: number) => ({ kind: 'checksAnswered', assured }) as const

/** The Active is demoted to 100 at 11 000, which is above our priority without checks. */
const [asking, asked] = step(following, heard(ABOVE, 100, 11_000), lifted, ms(11_000))
const regular = { activeDownAt: 13_500, regularDownAt: undefined, downReason: 'lowerPriorityActive' }

describe('fastPreempt with an advantage that rests on health checks', () => {
  test('the checks are repeated while fastPreempt waits', () => {
    expect(asked).toEqual([refusal, { kind: 'askChecks', within: 500 }])
    expect(asking).toMatchObject({ activeDownAt: 11_500, regularDownAt: 13_500, asksChecks: true })
  })

  test('a confirmed fast preemption acts when the wait is over', () => {
    const [sure, effects] = step(asking, answeredWith(128), lifted, ms(11_050))
    expect(effects).toEqual([])
    expect(sure).toMatchObject({ activeDownAt: 11_500, downReason: 'activeDemoted' })
    expect(step(sure, tick, lifted, ms(11_500))[0].name).toBe('Active')
  })

  test('a fast preemption acts if the checks that have answered are enough', () => {
    expect(step(asking, answeredWith(101), lifted, ms(11_050))[0]).toMatchObject({ activeDownAt: 11_500 })
    const [back, effects] = step(asking, answeredWith(100), lifted, ms(11_050))
    expect(back).toMatchObject(regular)
    expect(effects).toMatchObject([{ kind: 'moveSuppressed', reason: 'checksUnanswered', source: ABOVE }])
  })

  test('without an answer line (470) decides, as without fastPreempt', () => {
    const [back, effects] = step(asking, tick, lifted, ms(11_500))
    expect(back).toMatchObject({ name: 'Backup', ...regular })
    expect(effects).toMatchObject([{ kind: 'moveSuppressed', reason: 'checksUnanswered', source: ABOVE }])
    const [late] = step(back, answeredWith(128), lifted, ms(11_600))
    expect(late, 'an answer that comes too late').toEqual(back)
    expect(step(back, tick, lifted, ms(13_500))[1].at(-1)).toMatchObject({
      to: 'Active',
      reason: 'lowerPriorityActive',
    })
  })

  test('without an answer the router takes over if line (470) is due as well', () => {
    expect(step(asking, tick, lifted, ms(13_500))[1].at(-1)).toMatchObject({ reason: 'lowerPriorityActive' })
  })

  test('a check that fails ends the advantage, and the Active is followed', () => {
    const failed = { ...lifted, priority: 78, assured: undefined }
    const [back, effects] = step(asking, priorityFrom(128), failed, ms(11_010))
    expect(effects).toEqual([])
    expect(back).toMatchObject({ regularDownAt: undefined, downReason: 'activeSilent' })
    expect(step(back, answeredWith(78), failed, ms(11_020))[0]).toEqual(back)
  })

  test('a check that fails but leaves us above does not end the wait for the others', () => {
    const less = { ...lifted, priority: 110 }
    const [still] = step(asking, priorityFrom(128), less, ms(11_010))
    expect(still).toMatchObject({ asksChecks: true, regularDownAt: expect.any(Number) })
    expect(step(still, answeredWith(110), less, ms(11_020))[0]).toMatchObject({ downReason: 'activeDemoted' })
  })

  test('no check is repeated if base priority and other trackers are enough', () => {
    const [acts, effects] = step(following, heard(ABOVE, 77, 11_000), lifted, ms(11_000))
    expect(effects).toEqual([refusal])
    expect(acts).toMatchObject({ activeDownAt: 11_500, downReason: 'activeDemoted' })
  })

  test('line (470) does not wait for an answer, but a failed check may stop it', () => {
    const ask: Effect = { kind: 'askChecks', within: ms(100) }
    const nearly = backup({ ...following, activeDownAt: ms(11_100) })
    const young = backup({ ...nearly, enteredAt: ms(10_900) })
    const slow = parameters('holdfast', { assured: 78, knobs: { fastPreempt: false } })
    for (const [state, told] of [
      [nearly, lifted],
      [young, lifted],
      [nearly, slow],
    ] as const) {
      const [next, effects] = step(state, heard(ABOVE, 100, 11_000), told, ms(11_000))
      expect(effects).toEqual([refusal, ask])
      expect(next).toMatchObject({ activeDownAt: 11_100 })
      expect(step(next, answeredWith(1), told, ms(11_050)), 'an answer changes nothing').toEqual([next, []])
      expect(step(next, tick, told, ms(11_100))[0].name).toBe('Active')
    }
  })

  test('after a release of the Active no check has to confirm the takeover', () => {
    const [released] = step(asking, heard(ABOVE, 0, 11_100), lifted, ms(11_100))
    expect(step(released, tick, lifted, ms(11_600))[1].at(-1)).toMatchObject({ to: 'Active', reason: 'activeReleased' })
  })

  test('after lost packets a fast preemption waits a whole Active_Down_Interval first', () => {
    const [extended] = step(asking, tickAfterLoss, lifted, ms(11_500))
    expect(extended).toMatchObject({ activeDownAt: 15_000, extended: true })
    expect(step(extended, tick, lifted, ms(15_000))[0].name).toBe('Active')
  })

  test('a sync group takes over together, or waits as line (470) requires', () => {
    const members = ['V1', 'V2'].map((name) => ({ name, state: asking, parameters: lifted }))
    const play = (events: readonly (readonly [number, Event, number])[]) => {
      let now: readonly Member[] = members
      for (const [index, event, at] of events) {
        const steps = stepGroup(now, index, event, ms(at))
        now = now.map((member, i) => ({ ...member, state: steps[i]?.state ?? member.state }))
      }
      return now.map(({ state }) => state.name)
    }
    const both = [
      [0, tick, 11_500],
      [1, tick, 11_500],
    ] as const
    const first = [0, answeredWith(128), 11_050] as const
    const second = [1, answeredWith(128), 11_060] as const
    expect(play([first, second, ...both])).toEqual(['Active', 'Active'])
    expect(play([first, ...both]), 'one was not answered').toEqual(['Backup', 'Backup'])
    expect(play([first, ...both, [1, tick, 13_500]]), 'until line (470) lets it go').toEqual(['Active', 'Active'])
  })
})

test('minHold is reported when it prevents a fast preemption', () => {
  const recent = backup({ ...following, holderChangedAt: ms(5_000) })
  const [waits, effects] = step(recent, heard(ABOVE, 100, 11_000), lifted, ms(11_000))
  const held: Effect = { kind: 'moveSuppressed', reason: 'minHold', source: ABOVE, at: ms(11_000) }
  expect(effects).toEqual([refusal, held, { kind: 'askChecks', within: 2_500 }])
  expect(waits).toMatchObject({ activeDownAt: 13_500, regularDownAt: undefined })
  expect(step(waits, heard(ABOVE, 100, 12_000), lifted, ms(12_000))[1], 'once a demotion').toEqual([refusal])
})
