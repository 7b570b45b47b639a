/** A lower Active is followed until the delay is over (VR-PRE-02, VR-PRE-03). */
import { describe, expect, test } from 'vitest'
import { extendedStep as step } from '../../../../../src/vrrp/extensions/index.ts'
import { BELOW, backup, heard, ms, PROFILES, parameters, tick } from '../../fsm-fixture.ts'

describe.each(PROFILES)('preemptDelay, %s', (profile) => {
  test('a lower Active is followed until preemptDelay ends, counted from its first advertisement (VR-PRE-02)', () => {
    const patient = parameters(profile, { preemptDelay: ms(2000) })
    const [first] = step(backup(), heard(BELOW, 100, 500), patient, ms(510))
    const follows = (at: number) =>
      backup({
        active: { source: BELOW, priority: 100, heardAt: ms(at) },
        activeDownAt: ms(at + 3500),
        preemptAt: ms(2500),
      })
    expect(first).toEqual(follows(500))
    const [last, none] = step(first, heard(BELOW, 100, 2500), patient, ms(2500))
    expect([last, none]).toEqual([follows(2500), []])
    const [after, refused] = step(last, heard(BELOW, 100, 3500), patient, ms(3500))
    expect(after).toEqual({
      ...follows(2500),
      active: { source: BELOW, priority: 100, heardAt: ms(3500) },
      downReason: 'lowerPriorityActive',
    })
    expect(refused).toEqual([{ kind: 'refused', reason: 'lower-priority', source: BELOW }])
  })

  test('an equal or higher priority cancels preemptDelay, which delays neither expiry nor priority 0', () => {
    const patient = parameters(profile, { preemptDelay: ms(2000) })
    const waiting = backup({
      active: { source: BELOW, priority: 100, heardAt: ms(500) },
      activeDownAt: ms(4000),
      preemptAt: ms(2500),
    })
    const [cancelled] = step(waiting, heard(BELOW, 128, 1500), patient, ms(1500))
    expect(cancelled).toEqual(
      backup({ active: { source: BELOW, priority: 128, heardAt: ms(1500) }, activeDownAt: ms(5000) }),
    )
    const [zero] = step(waiting, heard(BELOW, 0, 1500), patient, ms(1500))
    expect(zero).toEqual({ ...waiting, activeDownAt: ms(2000), downReason: 'activeReleased' })
    expect(step(backup(), tick, patient, ms(3500))[0].name).toBe('Active')
  })
})
