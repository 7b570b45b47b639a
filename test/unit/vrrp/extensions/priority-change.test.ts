/** A changed effective priority moves the running timer of a Backup, and makes an Active advertise. */
import { describe, expect, test } from 'vitest'
import type { Effect } from '../../../../src/vrrp/effect.ts'
import { extendedStep as step } from '../../../../src/vrrp/extensions/index.ts'
import { centis } from '../../../../src/wire/units.ts'
import { ABOVE, active, backup, ms, PROFILES, parameters, priorityFrom, tick } from '../fsm-fixture.ts'

/** Follows ABOVE with 200, heard at 1000: activeDownAt 4500. */
const following = backup({ active: { source: ABOVE, priority: 200, heardAt: ms(1000) }, activeDownAt: ms(4500) })

describe.each(PROFILES)('a changed priority in Backup, %s', (profile) => {
  test('a changed priority in Backup moves the running timer by the difference of the intervals (VR-TM-06)', () => {
    // 128 → 192: Skew_Time 500 → 250 ms.
    const [raised, effects] = step(following, priorityFrom(128), parameters(profile, { priority: 192 }), ms(1500))
    expect([raised, effects]).toEqual([backup({ ...following, activeDownAt: ms(4250) }), []])
    const [lowered] = step(following, priorityFrom(128), parameters(profile, { priority: 64 }), ms(1500))
    expect(lowered).toEqual(backup({ ...following, activeDownAt: ms(4750) }))
    // The timer moves and does not restart, even if it is not the last advertisement + Active_Down_Interval.
    const extended = backup({ ...following, activeDownAt: ms(8100), extended: true })
    const [moved] = step(extended, priorityFrom(128), parameters(profile, { priority: 64 }), ms(4700))
    expect(moved).toEqual({ ...extended, activeDownAt: ms(8350) })
    const learned = backup({ ...following, activeAdverInterval: centis(200), activeDownAt: ms(8000) })
    const [scaled] = step(learned, priorityFrom(128), parameters(profile, { priority: 64 }), ms(1500))
    expect(scaled).toEqual({ ...learned, activeDownAt: ms(8500) })
  })
})

describe('a changed priority in Active', () => {
  const send: Effect = { kind: 'sendAdvertisement', priority: 40, reason: 'priorityChanged' }
  const demoted = parameters('holdfast', { priority: 40 })

  test('with profile rfc9568 the next periodic advertisement has a changed priority (VR-TM-07)', () => {
    const letter = parameters('rfc9568', { priority: 40 })
    expect(step(active(), priorityFrom(128), letter, ms(300))).toEqual([active(), []])
    expect(step(active(), tick, letter, ms(1000))[1]).toEqual([
      { kind: 'sendAdvertisement', priority: 40, reason: 'periodic' },
    ])
  })

  test('with profile holdfast an Active advertises a changed priority immediately, at most once an interval', () => {
    const told = active({ changeSentAt: ms(300) })
    expect(step(active(), priorityFrom(128), demoted, ms(300))).toEqual([told, [send]])
    expect(step(told, priorityFrom(50), demoted, ms(1299))).toEqual([told, []])
    expect(step(told, priorityFrom(50), demoted, ms(1300))).toEqual([active({ changeSentAt: ms(1300) }), [send]])
  })
})
