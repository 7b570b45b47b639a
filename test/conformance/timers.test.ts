/** Skew_Time and Active_Down_Interval as exact fractions (VR-TM-01, VR-TM-02), see vectors/PROVENANCE.md. */
import { describe, expect, test } from 'vitest'
import { activeDownInterval, skewTime } from '../../src/vrrp/timers.ts'
import { centis } from '../../src/wire/units.ts'
import { timerVectors } from './vector-file.ts'

describe('Skew_Time and Active_Down_Interval', () => {
  const cases = timerVectors().map((vector) => {
    const { active_adver_interval_cs, priority, version } = vector.input
    return [`${vector.id} version ${version}, priority ${priority}, ${active_adver_interval_cs} cs`, vector] as const
  })

  test.each(cases)('are those of vector %s', (_, { expect: expected, input }) => {
    const interval = centis(input.active_adver_interval_cs)
    const skew = skewTime(input.priority, interval, input.version) * 1000
    const down = activeDownInterval(input.priority, interval, input.version) * 1000
    // Denominators are powers of two: the quotient is exact, and so must be the result.
    expect(skew, 'Skew_Time in microseconds').toBe(expected.skew_us[0] / expected.skew_us[1])
    expect(down, 'Active_Down_Interval in microseconds').toBe(expected.active_down_us[0] / expected.active_down_us[1])
    expect(Math.floor(skew), 'Skew_Time, whole microseconds').toBe(expected.skew_us_floor)
    expect(Math.floor(down), 'Active_Down_Interval, whole microseconds').toBe(expected.active_down_us_floor)
  })
})
