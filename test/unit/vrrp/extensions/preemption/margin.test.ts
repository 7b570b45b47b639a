/** An Active within the margin is followed, and that is reported once while it lasts. */
import { describe, expect, test } from 'vitest'
import type { Effect } from '../../../../../src/vrrp/effect.ts'
import { extendedStep as step } from '../../../../../src/vrrp/extensions/index.ts'
import { ABOVE, backup, heard, ms, parameters, priorityFrom, tick } from '../../fsm-fixture.ts'

/** Follows ABOVE with 200, heard at 10 000: activeDownAt 13 500. */
const following = backup({ active: { source: ABOVE, priority: 200, heardAt: ms(10_000) }, activeDownAt: ms(13_500) })
const refusal: Effect = { kind: 'refused', reason: 'lower-priority', source: ABOVE }

describe('margin', () => {
  const wide = parameters('holdfast', { margin: 20 })
  const withinMargin = (at: number): Effect => ({ kind: 'moveSuppressed', reason: 'margin', source: ABOVE, at: ms(at) })

  test('an Active within the margin is followed, and that is reported once', () => {
    const [once, effects] = step(following, heard(ABOVE, 108, 11_000), wide, ms(11_000))
    expect(effects).toEqual([withinMargin(11_000)])
    expect(once).toMatchObject({ activeDownAt: 14_500, active: { priority: 108 } })
    expect(step(once, heard(ABOVE, 127, 12_000), wide, ms(12_000))[1]).toEqual([])
    const [above] = step(once, heard(ABOVE, 128, 12_000), wide, ms(12_000))
    expect(step(above, heard(ABOVE, 108, 13_000), wide, ms(13_000))[1], 'reported again').toEqual([
      withinMargin(13_000),
    ])
  })

  test('an advantage that is greater than the margin by one preempts', () => {
    const [acts] = step(following, heard(ABOVE, 107, 11_000), wide, ms(11_000))
    expect(acts).toMatchObject({ activeDownAt: 11_500, downReason: 'activeDemoted' })
  })

  test('a lower priority of ours that falls into the margin withdraws a fast preemption', () => {
    const [acts] = step(following, heard(ABOVE, 107, 11_000), wide, ms(11_000))
    const [back] = step(acts, priorityFrom(128), { ...wide, priority: 127 }, ms(11_100))
    expect(back).toMatchObject({ regularDownAt: undefined, downReason: 'activeSilent' })
  })

  test('silence and a release of the Active count as without a margin', () => {
    const [once] = step(following, heard(ABOVE, 108, 11_000), wide, ms(11_000))
    expect(step(once, tick, wide, ms(14_500))[0].name).toBe('Active')
    expect(step(once, heard(ABOVE, 0, 12_000), wide, ms(12_000))[0]).toMatchObject({ activeDownAt: 12_500 })
  })

  test('an owner preempts without a margin (RFC 9568 §6.1)', () => {
    const owner = parameters('holdfast', { priority: 255, margin: 20 })
    expect(step(following, heard(ABOVE, 254, 11_000), owner, ms(11_000))[1]).toEqual([refusal])
  })
})
