/** fastPreempt and minHold (docs/architecture.md, Protocol decisions): a demotion of the Active that we follow, and nothing else. */
import { describe, expect, test } from 'vitest'
import type { Effect } from '../../../../../src/vrrp/effect.ts'
import { extendedStep as step } from '../../../../../src/vrrp/extensions/index.ts'
import { nextDeadline } from '../../../../../src/vrrp/state.ts'
import { centis } from '../../../../../src/wire/units.ts'
import { ABOVE, backup, heard, ms, OTHER, parameters, priorityFrom, tick, tickAfterLoss } from '../../fsm-fixture.ts'

const safe = parameters('holdfast')

/** In Backup for ten seconds, following ABOVE with 200, heard at 10 000; the next advertisement is due at 11 000. */
const following = backup({ active: { source: ABOVE, priority: 200, heardAt: ms(10_000) }, activeDownAt: ms(13_500) })
const demotion = heard(ABOVE, 50, 11_000)
const refusal: Effect = { kind: 'refused', reason: 'lower-priority', source: ABOVE }
const demotedActive = { source: ABOVE, priority: 50, heardAt: ms(11_000) }
/** Line (470): remembered, but the timer keeps running. */
const waits = backup({ ...following, active: demotedActive, downReason: 'lowerPriorityActive' })
/** Acts after Skew_Time. */
const acts = backup({
  ...following,
  active: demotedActive,
  activeDownAt: ms(11_502),
  regularDownAt: ms(13_500),
  downReason: 'activeDemoted',
})

describe('fastPreempt', () => {
  test('a demotion below us: Skew_Time from now instead of Active_Down_Interval', () => {
    expect(step(following, demotion, safe, ms(11_002))).toEqual([acts, [refusal]])
    expect(nextDeadline(acts)).toBe(11_502)
    expect(step(acts, tick, safe, ms(11_502))[1].at(-1)).toEqual({
      kind: 'transition',
      from: 'Backup',
      to: 'Active',
      reason: 'activeDemoted',
    })
  })

  test('the learned interval scales it', () => {
    const learned = backup({ ...following, activeAdverInterval: centis(200), activeDownAt: ms(17_000) })
    const [next] = step(learned, demotion, safe, ms(11_000))
    expect(next).toEqual({
      ...acts,
      activeAdverInterval: centis(200),
      activeDownAt: ms(12_000),
      regularDownAt: ms(17_000),
    })
  })

  test('never later than line (470)', () => {
    const nearly = backup({ ...following, activeDownAt: ms(11_100) })
    expect(step(nearly, demotion, safe, ms(11_000))[0]).toEqual({
      ...acts,
      activeDownAt: ms(11_100),
      regularDownAt: ms(11_100),
    })
  })

  test('from exactly our priority counts: it was not below', () => {
    const equal = backup({ ...following, active: { source: ABOVE, priority: 128, heardAt: ms(10_000) } })
    expect(step(equal, demotion, safe, ms(11_002))[0]).toEqual(acts)
  })

  describe('each condition switched off alone leaves line (470)', () => {
    const refuses = (state = following, knows = safe, now = 11_002) => step(state, demotion, knows, ms(now))

    test('the knob', () => {
      expect(refuses(following, parameters('holdfast', { knobs: { fastPreempt: false } }))).toEqual([waits, [refusal]])
      expect(refuses(following, parameters('rfc9568'))).toEqual([waits, [refusal]])
    })

    test('Preempt_Mode: a lower Active is followed', () => {
      const [next, effects] = refuses(following, parameters('holdfast', { preempt: false }))
      expect([next, effects]).toEqual([backup({ ...following, active: demotedActive, activeDownAt: ms(14_500) }), []])
    })

    test('preemptDelay: starts with the demotion and is followed', () => {
      const [next, effects] = refuses(following, parameters('holdfast', { preemptDelay: ms(1000) }))
      const patient = { ...following, active: demotedActive, activeDownAt: ms(14_500), preemptAt: ms(12_000) }
      expect([next, effects]).toEqual([backup(patient), []])
    })

    test('less than one Active_Down_Interval in Backup', () => {
      const fresh = backup({ ...following, enteredAt: ms(7502.5) })
      expect(refuses(fresh)).toEqual([{ ...waits, enteredAt: ms(7502.5) }, [refusal]])
      const settled = backup({ ...following, enteredAt: ms(7502) })
      expect(refuses(settled)).toEqual([{ ...acts, enteredAt: ms(7502) }, [refusal]])
    })

    test('a longer learned interval makes that longer', () => {
      const slow = { ...following, activeAdverInterval: centis(200), activeDownAt: ms(17_000) }
      const fresh = backup({ ...slow, enteredAt: ms(5000) })
      expect(refuses(fresh)[0]).toEqual({ ...fresh, active: demotedActive, downReason: 'lowerPriorityActive' })
    })

    test('another router than the Active: nothing about it is remembered', () => {
      expect(step(following, heard(OTHER, 50, 11_000), safe, ms(11_002))).toEqual([
        backup({ ...following, downReason: 'lowerPriorityActive' }),
        [{ kind: 'refused', reason: 'lower-priority', source: OTHER }],
      ])
    })

    test('no Active known', () => {
      const unknown = backup({ activeDownAt: ms(13_500) })
      expect(refuses(unknown)[0]).toEqual(backup({ activeDownAt: ms(13_500), downReason: 'lowerPriorityActive' }))
    })

    test('it was below us already: no demotion', () => {
      const below = backup({ ...following, active: { source: ABOVE, priority: 127, heardAt: ms(10_000) } })
      expect(refuses(below)[0]).toEqual(waits)
    })

    test('it is not below us now', () => {
      const [next, effects] = step(following, heard(ABOVE, 128, 11_000), safe, ms(11_002))
      expect([next, effects]).toEqual([
        backup({ active: { source: ABOVE, priority: 128, heardAt: ms(11_000) }, activeDownAt: ms(14_500) }),
        [],
      ])
    })

    test('minHold since the last change of owner that was seen', () => {
      const moved = backup({ ...following, holderChangedAt: ms(1002.5) })
      expect(refuses(moved)[0]).toEqual({ ...waits, holderChangedAt: ms(1002.5) })
      const held = backup({ ...following, holderChangedAt: ms(1002) })
      expect(refuses(held)[0]).toEqual({ ...acts, holderChangedAt: ms(1002) })
      const short = parameters('holdfast', { minHold: ms(0) })
      expect(refuses(backup({ ...following, holderChangedAt: ms(11_002) }), short)[0]).toEqual({
        ...acts,
        holderChangedAt: ms(11_002),
      })
    })

    test('the Active has been released: Skew_Time is running already', () => {
      const released = backup({ ...following, activeDownAt: ms(11_400), downReason: 'activeReleased' })
      expect(refuses(released)[0]).toEqual({ ...released, active: demotedActive })
    })

    test('an owner: line (470) is as fast as its priority makes it', () => {
      const owner = parameters('holdfast', { priority: 255 })
      const other = backup({ ...following, active: { source: ABOVE, priority: 255, heardAt: ms(10_000) } })
      expect(refuses(other, owner)[0]).toEqual(waits)
    })
  })

  describe('while it is pending', () => {
    test('further lower advertisements of the Active do not move it', () => {
      const again = heard(ABOVE, 40, 11_400)
      expect(step(acts, again, safe, ms(11_400))).toEqual([
        { ...acts, active: { source: ABOVE, priority: 40, heardAt: ms(11_400) } },
        [refusal],
      ])
    })

    test('a lower stray changes neither the moment nor the reason', () => {
      expect(step(acts, heard(OTHER, 60, 11_400), safe, ms(11_400))[0]).toEqual(acts)
    })

    test('the Active is back above us: line (445)', () => {
      expect(step(acts, heard(ABOVE, 200, 11_400), safe, ms(11_400))[0]).toEqual(
        backup({ active: { source: ABOVE, priority: 200, heardAt: ms(11_400) }, activeDownAt: ms(14_900) }),
      )
    })

    test.each([50, 49])(
      'our priority falls to %i: back to the last advertisement + Active_Down_Interval',
      (priority) => {
        const lowered = parameters('holdfast', { priority })
        const [next, effects] = step(acts, priorityFrom(128), lowered, ms(11_200))
        // Skew_Time of 50: 804.6875 ms; of 49: 808.59375 ms.
        const downAt = priority === 50 ? 14_804.6875 : 14_808.59375
        expect([next, effects]).toEqual([backup({ ...following, active: demotedActive, activeDownAt: ms(downAt) }), []])
      },
    )

    test('our priority falls but stays above: both moments move by the difference (VR-TM-06)', () => {
      const lowered = parameters('holdfast', { priority: 64 })
      expect(step(acts, priorityFrom(128), lowered, ms(11_200))[0]).toEqual({
        ...acts,
        activeDownAt: ms(11_752),
        regularDownAt: ms(13_750),
      })
    })

    test('packets were lost: a whole Active_Down_Interval from now, once', () => {
      expect(step(acts, tickAfterLoss, safe, ms(11_502))[0]).toEqual({
        ...acts,
        activeDownAt: ms(15_002),
        regularDownAt: undefined,
        extended: true,
      })
    })
  })

  test('line (470) runs out on an Active that we no longer beat: it is given its interval', () => {
    const lowered = parameters('holdfast', { priority: 50 })
    expect(step(waits, priorityFrom(128), lowered, ms(11_200))[0]).toEqual(
      backup({ ...following, active: demotedActive, activeDownAt: ms(14_804.6875) }),
    )
    // The letter moves the running timer and nothing else.
    const letter = parameters('rfc9568', { priority: 50 })
    expect(step(waits, priorityFrom(128), letter, ms(11_200))[0]).toEqual({ ...waits, activeDownAt: ms(13_804.6875) })
  })

  test('a release is not taken back because our priority fell', () => {
    const released = backup({
      ...acts,
      activeDownAt: ms(11_400),
      regularDownAt: undefined,
      downReason: 'activeReleased',
    })
    const lowered = parameters('holdfast', { priority: 50 })
    expect(step(released, priorityFrom(128), lowered, ms(11_200))[0]).toEqual({
      ...released,
      activeDownAt: ms(11_704.6875),
    })
  })
})
