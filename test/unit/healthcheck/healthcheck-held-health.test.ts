import { describe, expect, test } from 'vitest'
import type { HealthRule } from '../../../src/healthcheck/check.ts'
import type { CheckReport } from '../../../src/healthcheck/check-report.ts'
import type { CheckResult, CountsAs } from '../../../src/healthcheck/health.ts'
import { doubtAt, hearReport, heldAt, startHeld } from '../../../src/healthcheck/held-health.ts'
import { millis } from '../../../src/wire/units.ts'

const HOLD: HealthRule = { rise: 1, fall: 1, initial: 'firstResult', onUnknown: 'hold', unknownAfter: millis(3_000) }
const FAIL: HealthRule = { ...HOLD, onUnknown: 'fail' }

const report = (result: CheckResult, countsAs: CountsAs): CheckReport => ({
  check: 'api',
  result,
  countsAs,
  since: millis(0),
  last: undefined,
  weight: undefined,
  watched: false,
  runs: 1,
  results: {},
  skipped: 0,
})

describe('what the engine holds of a check', () => {
  const up = hearReport(startHeld(millis(0)), report('up', 'up'), millis(100))

  test('nothing before the first word', () => {
    expect(heldAt(startHeld(millis(0)), HOLD, millis(10))).toEqual({ result: 'undecided', countsAs: 'nothing' })
  })

  test('what was said stands while the thread is heard, to the ms', () => {
    expect(doubtAt(up, HOLD)).toBe(3_100)
    expect(heldAt(up, FAIL, millis(3_099.9))).toEqual({ result: 'up', countsAs: 'up' })
    const beat = hearReport(up, report('up', 'up'), millis(2_000))
    expect(heldAt(beat, FAIL, millis(4_999))).toEqual({ result: 'up', countsAs: 'up' })
  })

  test('silence: unknown, which counts as before or as down', () => {
    expect(heldAt(up, HOLD, millis(3_100))).toEqual({ result: 'unknown', countsAs: 'up' })
    expect(heldAt(up, FAIL, millis(3_100))).toEqual({ result: 'unknown', countsAs: 'down' })
  })

  test('a thread that starts anew and knows nothing yet takes nothing back, and buys no time', () => {
    const restarted = hearReport(up, report('undecided', 'nothing'), millis(2_900))
    expect(heldAt(restarted, FAIL, millis(3_000))).toEqual({ result: 'up', countsAs: 'up' })
    expect(heldAt(restarted, FAIL, millis(3_100))).toEqual({ result: 'unknown', countsAs: 'down' })
  })

  test('nor does one that repeats what it was given and has not asked yet: threads that die young buy no time', () => {
    let held = up
    for (const at of [1_000, 2_000, 3_000]) held = hearReport(held, { ...report('up', 'up'), runs: 0 }, millis(at))
    expect(heldAt(held, FAIL, millis(3_100))).toEqual({ result: 'unknown', countsAs: 'down' })
    const asked = hearReport(held, report('up', 'up'), millis(3_200))
    expect(heldAt(asked, FAIL, millis(3_200))).toEqual({ result: 'up', countsAs: 'up' })
  })

  test('where it starts counts before the first run', () => {
    const started = hearReport(startHeld(millis(0)), { ...report('up', 'up'), runs: 0 }, millis(100))
    expect(heldAt(started, FAIL, millis(200))).toEqual({ result: 'up', countsAs: 'up' })
  })
})
