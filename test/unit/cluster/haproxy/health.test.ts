/** Whether HAProxy is usable, after single checks: the cases of upstream's monitor, and the profile `fast`. */
import { describe, expect, test } from 'vitest'
import { type Health, healthAfter, type Thresholds } from '../../../../src/cluster/decisions/haproxy/health.ts'
import { PROFILE } from '../../../../src/cluster/decisions/haproxy/monitor-settings.ts'
import { clusterCases } from '../../../support/cluster-cases.ts'

type Samples = {
  readonly initial: boolean
  readonly onThreshold: number
  readonly offThreshold: number
  readonly samples: readonly boolean[]
}

function decisions(initial: boolean, thresholds: Thresholds, samples: readonly boolean[]): readonly boolean[] {
  let health: Health = { isUsable: initial, against: 0 }
  return samples.map((isGood) => {
    health = healthAfter(health, isGood, thresholds)
    return health.isUsable
  })
}

describe('HAProxy is usable by the count of contradicting checks', () => {
  test.each(clusterCases<Samples, readonly boolean[]>('alarmStabilization'))('$id', ({ input, expect: expected }) => {
    const { initial, onThreshold: on, offThreshold: off, samples } = input
    expect(decisions(initial, { on, off }, samples)).toEqual(expected)
    // The thresholds of the cases are those of the profile.
    expect(PROFILE.upstream.thresholds).toEqual({ on, off })
  })

  test('in the profile fast, one bad check ends the use, and three good checks begin it', () => {
    const samples = [true, true, true, false, true, true, false, true, true, true]
    const expected = [false, false, true, false, false, false, false, false, false, true]
    expect(decisions(false, PROFILE.fast.thresholds, samples)).toEqual(expected)
  })

  test('after adoption, one bad check ends the use', () => {
    expect(decisions(true, PROFILE.fast.thresholds, [false])).toEqual([false])
  })
})
