/**
 * A deadline after which packets were lost, or the process slept (ground rule 2: a waiting packet counts), in every
 * profile.
 */
import { describe, expect, test } from 'vitest'
import { extendedStep as step } from '../../../../src/vrrp/extensions/index.ts'
import { centis } from '../../../../src/wire/units.ts'
import { ABOVE, active, backup, heard, ms, PROFILES, parameters, tickAfterLoss } from '../fsm-fixture.ts'

/** Follows ABOVE with 200, heard at 1000: activeDownAt 4500. */
const following = backup({ active: { source: ABOVE, priority: 200, heardAt: ms(1000) }, activeDownAt: ms(4500) })

describe.each(PROFILES)('lost packets, %s', (profile) => {
  const told = parameters(profile)

  test('lost packets move the deadline of a Backup once, to now + Active_Down_Interval', () => {
    const extended = backup({ ...following, activeDownAt: ms(8100), extended: true })
    expect(step(following, tickAfterLoss, told, ms(4600))).toEqual([extended, []])
    expect(step(extended, tickAfterLoss, told, ms(8100))[0]).toEqual(active({ since: ms(8100), adverAt: ms(9100) }))
    // After an accepted advertisement, a loss extends the wait again.
    const [again] = step(extended, heard(ABOVE, 200, 5000), told, ms(5000))
    expect(again).toEqual(
      backup({ active: { source: ABOVE, priority: 200, heardAt: ms(5000) }, activeDownAt: ms(8500) }),
    )
  })

  test('lost packets move the deadline by the learned interval', () => {
    const learned = backup({ ...following, activeAdverInterval: centis(200), activeDownAt: ms(8000) })
    const [next] = step(learned, tickAfterLoss, told, ms(8000))
    expect(next).toEqual({ ...learned, activeDownAt: ms(15_000), extended: true })
  })
})
