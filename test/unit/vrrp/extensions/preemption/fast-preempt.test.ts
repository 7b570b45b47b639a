/** fastPreempt and minHold (docs/architecture.md, Protocol decisions) act on a demotion of the followed Active only. */
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
  test('a Backup takes over after Skew_Time when the Active lowers its priority below ours', () => {
    expect(step(following, demotion, safe, ms(11_002))).toEqual([acts, [refusal]])
    expect(nextDeadline(acts)).toBe(11_502)
    expect(step(acts, tick, safe, ms(11_502))[1].at(-1)).toEqual({
      kind: 'transition',
      from: 'Backup',
      to: 'Active',
      reason: 'activeDemoted',
    })
  })

  test('fastPreempt computes Skew_Time from the learned interval', () => {
    const learned = backup({ ...following, activeAdverInterval: centis(200), activeDownAt: ms(17_000) })
    const [next] = step(learned, demotion, safe, ms(11_000))
    expect(next).toEqual({
      ...acts,
      activeAdverInterval: centis(200),
      activeDownAt: ms(12_000),
      regularDownAt: ms(17_000),
    })
  })

  test('fastPreempt never acts later than line (470)', () => {
    const nearly = backup({ ...following, activeDownAt: ms(11_100) })
    expect(step(nearly, demotion, safe, ms(11_000))[0]).toEqual({
      ...acts,
      activeDownAt: ms(11_100),
      regularDownAt: ms(11_100),
    })
  })

  test('a demotion from exactly our priority counts, because it was not below us', () => {
    const equal = backup({ ...following, active: { source: ABOVE, priority: 128, heardAt: ms(10_000) } })
    expect(step(equal, demotion, safe, ms(11_002))[0]).toEqual(acts)
  })

  describe('each condition switched off alone leaves line (470)', () => {
    const refuses = (state = following, knows = safe, now = 11_002) => step(state, demotion, knows, ms(now))

    test('fastPreempt off leaves the takeover to line (470)', () => {
      expect(refuses(following, parameters('holdfast', { knobs: { fastPreempt: false } }))).toEqual([waits, [refusal]])
      expect(refuses(following, parameters('rfc9568'))).toEqual([waits, [refusal]])
    })

    test('Preempt_Mode False follows a demoted Active', () => {
      const [next, effects] = refuses(following, parameters('holdfast', { preempt: false }))
      expect([next, effects]).toEqual([backup({ ...following, active: demotedActive, activeDownAt: ms(14_500) }), []])
    })

    test('preemptDelay starts with the demotion, and the Active is followed', () => {
      const [next, effects] = refuses(following, parameters('holdfast', { preemptDelay: ms(1000) }))
      const patient = { ...following, active: demotedActive, activeDownAt: ms(14_500), preemptAt: ms(12_000) }
      expect([next, effects]).toEqual([backup(patient), []])
    })

    test('a router that has been Backup for less than Active_Down_Interval does not act on a demotion', () => {
      const fresh = backup({ ...following, enteredAt: ms(7502.5) })
      expect(refuses(fresh)).toEqual([{ ...waits, enteredAt: ms(7502.5) }, [refusal]])
      const settled = backup({ ...following, enteredAt: ms(7502) })
      expect(refuses(settled)).toEqual([{ ...acts, enteredAt: ms(7502) }, [refusal]])
    })

    test('a longer learned interval lengthens the time that a router must have been Backup', () => {
      const slow = { ...following, activeAdverInterval: centis(200), activeDownAt: ms(17_000) }
      const fresh = backup({ ...slow, enteredAt: ms(5000) })
      expect(refuses(fresh)[0]).toEqual({ ...fresh, active: demotedActive, downReason: 'lowerPriorityActive' })
    })

    test('a lower advertisement of another router than the Active leaves no trace', () => {
      expect(step(following, heard(OTHER, 50, 11_000), safe, ms(11_002))).toEqual([
        backup({ ...following, downReason: 'lowerPriorityActive' }),
        [{ kind: 'refused', reason: 'lower-priority', source: OTHER }],
      ])
    })

    test('a Backup without a known Active does not act on a demotion', () => {
      const unknown = backup({ activeDownAt: ms(13_500) })
      expect(refuses(unknown)[0]).toEqual(backup({ activeDownAt: ms(13_500), downReason: 'lowerPriorityActive' }))
    })

    test('an Active that was below us already is not demoted', () => {
      const below = backup({ ...following, active: { source: ABOVE, priority: 127, heardAt: ms(10_000) } })
      expect(refuses(below)[0]).toEqual(waits)
    })

    test('a demotion to a priority that is not below ours does not count', () => {
      const [next, effects] = step(following, heard(ABOVE, 128, 11_000), safe, ms(11_002))
      expect([next, effects]).toEqual([
        backup({ active: { source: ABOVE, priority: 128, heardAt: ms(11_000) }, activeDownAt: ms(14_500) }),
        [],
      ])
    })

    test('a Backup does not act on a demotion within minHold after a change of holder', () => {
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

    test('a release is not replaced by fastPreempt, because Skew_Time runs already', () => {
      const released = backup({ ...following, activeDownAt: ms(11_400), downReason: 'activeReleased' })
      expect(refuses(released)[0]).toEqual({ ...released, active: demotedActive })
    })

    test('an owner takes over by line (470), which its priority makes fast', () => {
      const owner = parameters('holdfast', { priority: 255 })
      const other = backup({ ...following, active: { source: ABOVE, priority: 255, heardAt: ms(10_000) } })
      expect(refuses(other, owner)[0]).toEqual(waits)
    })
  })

  describe('while it is pending', () => {
    test('further lower advertisements of the Active do not move a pending fast preemption', () => {
      const again = heard(ABOVE, 40, 11_400)
      expect(step(acts, again, safe, ms(11_400))).toEqual([
        { ...acts, active: { source: ABOVE, priority: 40, heardAt: ms(11_400) } },
        [refusal],
      ])
    })

    test('a lower advertisement of another router changes neither time nor reason of a pending fast preemption', () => {
      expect(step(acts, heard(OTHER, 60, 11_400), safe, ms(11_400))[0]).toEqual(acts)
    })

    test('a pending fast preemption ends when the Active is above us again (445)', () => {
      expect(step(acts, heard(ABOVE, 200, 11_400), safe, ms(11_400))[0]).toEqual(
        backup({ active: { source: ABOVE, priority: 200, heardAt: ms(11_400) }, activeDownAt: ms(14_900) }),
      )
    })

    test.each([50, 49])('our priority falls to %i: the Active is followed from its last advertisement', (priority) => {
      const lowered = parameters('holdfast', { priority })
      const [next, effects] = step(acts, priorityFrom(128), lowered, ms(11_200))
      // Skew_Time of 50: 804.6875 ms; of 49: 808.59375 ms.
      const downAt = priority === 50 ? 14_804.6875 : 14_808.59375
      expect([next, effects]).toEqual([backup({ ...following, active: demotedActive, activeDownAt: ms(downAt) }), []])
    })

    test('a lower priority of ours that stays above moves both deadlines by the difference (VR-TM-06)', () => {
      const lowered = parameters('holdfast', { priority: 64 })
      expect(step(acts, priorityFrom(128), lowered, ms(11_200))[0]).toEqual({
        ...acts,
        activeDownAt: ms(11_752),
        regularDownAt: ms(13_750),
      })
    })

    test('after lost packets a pending fast preemption waits a whole Active_Down_Interval, once', () => {
      expect(step(acts, tickAfterLoss, safe, ms(11_502))[0]).toEqual({
        ...acts,
        activeDownAt: ms(15_002),
        regularDownAt: undefined,
        extended: true,
      })
    })
  })

  test('an Active that we no longer beat has its interval when line (470) expires', () => {
    const lowered = parameters('holdfast', { priority: 50 })
    expect(step(waits, priorityFrom(128), lowered, ms(11_200))[0]).toEqual(
      backup({ ...following, active: demotedActive, activeDownAt: ms(14_804.6875) }),
    )
    // With profile rfc9568 only the running timer moves.
    const letter = parameters('rfc9568', { priority: 50 })
    expect(step(waits, priorityFrom(128), letter, ms(11_200))[0]).toEqual({ ...waits, activeDownAt: ms(13_804.6875) })
  })

  test('a lower priority of ours does not undo a release of the Active', () => {
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
