/** Which router a Backup follows, and whose priority 0 counts (docs/architecture.md, Priority 0). */
import { describe, expect, test } from 'vitest'
import { extendedStep as step } from '../../../../src/vrrp/extensions/index.ts'
import { ABOVE, backup, heard, ms, OTHER, parameters } from '../fsm-fixture.ts'

/** Follows ABOVE with 200, heard at 1000: activeDownAt 4500. */
const following = backup({ active: { source: ABOVE, priority: 200, heardAt: ms(1000) }, activeDownAt: ms(4500) })
const released = backup({ ...following, activeDownAt: ms(2000), downReason: 'activeReleased' })

describe('priority 0 in Backup', () => {
  const letter = parameters('rfc9568')
  const safe = parameters('holdfast')

  test('priority 0 of a router that is not the Active counts with rfc9568 (425), and is refused by holdfast', () => {
    const zero = heard(OTHER, 0, 1200)
    const obeyed = backup({ ...following, activeDownAt: ms(1700), downReason: 'activeReleased' })
    expect(step(following, zero, letter, ms(1200))).toEqual([obeyed, []])
    expect(step(following, zero, safe, ms(1200))).toEqual([
      following,
      [{ kind: 'refused', reason: 'priority-zero-not-from-active', source: OTHER }],
    ])
  })

  test('a repeated priority 0 lengthens the wait with rfc9568, and never with holdfast', () => {
    const again = heard(ABOVE, 0, 1800)
    expect(step(released, again, letter, ms(1800))[0]).toEqual(backup({ ...released, activeDownAt: ms(2300) }))
    expect(step(released, again, safe, ms(1800))[0]).toEqual(released)
    // A packet with an earlier time that is read later may still shorten the wait.
    expect(step(released, heard(ABOVE, 0, 1400), safe, ms(1800))[0]).toEqual(
      backup({ ...released, activeDownAt: ms(1900) }),
    )
  })

  test('priority 0 does not lengthen the wait of a pending fast preemption', () => {
    const pending = backup({
      active: { source: ABOVE, priority: 50, heardAt: ms(4000) },
      activeDownAt: ms(4500),
      regularDownAt: ms(7000),
      downReason: 'activeDemoted',
    })
    expect(step(pending, heard(ABOVE, 0, 4300), safe, ms(4300))[0]).toEqual(
      backup({ ...pending, activeDownAt: ms(4500), regularDownAt: undefined, downReason: 'activeReleased' }),
    )
  })
})
