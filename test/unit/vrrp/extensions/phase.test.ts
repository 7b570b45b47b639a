/** The first periodic advertisement of an Active comes after a share of the interval (VR-TM-05). */
import { describe, expect, test } from 'vitest'
import { extendedStep as step } from '../../../../src/vrrp/extensions/index.ts'
import { active, backup, DOWN, initialize, linkDown, ms, PROFILES, parameters, startup, tick } from '../fsm-fixture.ts'

describe.each(PROFILES)('phase, %s', (profile) => {
  const told = parameters(profile, { phase: 0.25 })

  test('phase moves only the first periodic advertisement forward, and the grid continues from it', () => {
    const [next] = step(backup(), tick, told, ms(DOWN))
    expect(next).toEqual(active({ since: ms(DOWN), adverAt: ms(DOWN + 250) }))
    expect(step(next, tick, told, ms(DOWN + 250))[0]).toMatchObject({ adverAt: DOWN + 1250 })
  })

  test('phase applies to an owner at its start', () => {
    const owner = parameters(profile, { priority: 255, phase: 0.5 })
    expect(step(initialize(), startup, owner, ms(0))[0]).toMatchObject({ name: 'Active', adverAt: 500 })
  })

  test('without phase, or with 1, the first advertisement comes after Advertisement_Interval', () => {
    const whole = parameters(profile, { phase: 1 })
    expect(step(backup(), tick, whole, ms(DOWN))).toEqual(step(backup(), tick, parameters(profile), ms(DOWN)))
    expect(step(active(), tick, told, ms(1000))).toEqual(step(active(), tick, whole, ms(1000)))
    expect(step(active(), linkDown, told, ms(1))).toEqual(step(active(), linkDown, whole, ms(1)))
    expect(step(initialize(), startup, told, ms(0))).toEqual(step(initialize(), startup, whole, ms(0)))
  })
})
