/** Which router a Backup regards as the Active. The rule is the same in every profile. */
import { describe, expect, test } from 'vitest'
import { extendedStep as step } from '../../../src/vrrp/extensions/index.ts'
import { centis } from '../../../src/wire/units.ts'
import { ABOVE, backup, heard, ms, OTHER, PROFILES, parameters } from './fsm-fixture.ts'

/** Follows ABOVE with 200, heard at 1000: activeDownAt 4500. */
const following = backup({ active: { source: ABOVE, priority: 200, heardAt: ms(1000) }, activeDownAt: ms(4500) })
const released = backup({ ...following, activeDownAt: ms(2000), downReason: 'activeReleased' })

describe.each(PROFILES)('the Active that a Backup follows, %s', (profile) => {
  const told = parameters(profile)
  const hears = (source: typeof ABOVE, priority: number, at: number) =>
    step(following, heard(source, priority, at), told, ms(at))[0]

  test('a lower router heard less than an interval after the Active restarts the timer but is not followed', () => {
    expect(hears(OTHER, 150, 1999)).toEqual(backup({ ...following, activeDownAt: ms(5499) }))
  })

  test('of two routers with equal priority the one with the lower address is not followed', () => {
    expect(hears(OTHER, 200, 1999)).toEqual(backup({ ...following, activeDownAt: ms(5499) }))
    const higher = backup({ ...following, active: { source: OTHER, priority: 200, heardAt: ms(1000) } })
    const [next] = step(higher, heard(ABOVE, 200, 1999), told, ms(1999))
    expect(next).toEqual(
      backup({
        active: { source: ABOVE, priority: 200, heardAt: ms(1999) },
        activeDownAt: ms(5499),
        holderChangedAt: ms(1999),
      }),
    )
  })

  test('a router is followed an interval after the last advertisement of the Active, or with a higher priority', () => {
    for (const [priority, at] of [
      [150, 2000],
      [201, 1001],
    ] as const) {
      const [next] = step(following, heard(OTHER, priority, at), told, ms(at + 3))
      expect(next).toEqual(
        backup({
          active: { source: OTHER, priority, heardAt: ms(at) },
          activeDownAt: ms(at + 3500),
          holderChangedAt: ms(at + 3),
        }),
      )
    }
  })

  test('the learned interval decides how long the Active stays followed', () => {
    const slow = backup({ ...following, activeAdverInterval: centis(200), activeDownAt: ms(8000) })
    const [next] = step(slow, heard(OTHER, 150, 2999), told, ms(2999))
    expect(next).toEqual({ ...slow, activeAdverInterval: centis(100), activeDownAt: ms(6499) })
  })

  test('the same Active with a lower priority than before is followed', () => {
    expect(hears(ABOVE, 150, 1500)).toEqual(
      backup({ active: { source: ABOVE, priority: 150, heardAt: ms(1500) }, activeDownAt: ms(5000) }),
    )
  })

  test('after a release the next sender is followed, and its own priority 0 counts', () => {
    const [next] = step(released, heard(OTHER, 150, 1600), told, ms(1600))
    expect(next).toEqual(
      backup({
        active: { source: OTHER, priority: 150, heardAt: ms(1600) },
        activeDownAt: ms(5100),
        holderChangedAt: ms(1600),
      }),
    )
    const [zero, effects] = step(next, heard(OTHER, 0, 1700), told, ms(1700))
    expect([zero.name === 'Backup' && zero.activeDownAt, effects]).toEqual([2200, []])
  })

  test('the first known router does not count as a change of holder', () => {
    const [next] = step(backup(), heard(ABOVE, 200, 1000), told, ms(1000))
    expect(next).toEqual(following)
  })
})
