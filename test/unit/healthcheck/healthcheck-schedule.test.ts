import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Cadence } from '../../../src/healthcheck/check.ts'
import { beginRun, endRun, isDue, promptRun, type Schedule, startSchedule } from '../../../src/healthcheck/schedule.ts'
import { millis } from '../../../src/wire/units.ts'
import { forAll } from '../../support/for-all.ts'

const CADENCE: Cadence = { interval: millis(1_000), fastInterval: millis(20), jitter: 0 }
const FAST = CADENCE.fastInterval

const run = (schedule: Schedule, endsAt: number, changing = false, random = 0, cadence = CADENCE): Schedule =>
  endRun(beginRun(schedule), cadence, changing, millis(endsAt), random)

describe('slots', () => {
  test('the first run is due at once', () => {
    expect(isDue(startSchedule(millis(50)), millis(50))).toBe(true)
  })

  test('run after run on the grid, however long each took and however late it began', () => {
    const first = run(startSchedule(millis(0)), 300)
    expect(first.dueAt).toBe(1_000)
    expect(isDue(first, millis(999.9))).toBe(false)
    expect(run(first, 1_900).dueAt).toBe(2_000)
  })

  test('none is due while one is under way; its slots are skipped and counted', () => {
    const under = beginRun(startSchedule(millis(0)))
    expect(isDue(under, millis(5_000))).toBe(false)
    const after = endRun(under, CADENCE, false, millis(3_400), 0)
    expect(after).toMatchObject({ dueAt: 4_000, skipped: 3 })
  })

  test('a run that ends exactly at a slot has used it up', () => {
    expect(run(startSchedule(millis(0)), 1_000)).toMatchObject({ dueAt: 2_000, skipped: 1 })
  })

  test('while the result is changing every fastInterval', () => {
    const first = run(startSchedule(millis(0)), 3, true)
    expect(first.dueAt).toBe(20)
    expect(run(first, 24, false).dueAt).toBe(1_020)
  })

  test('jitter puts a slot off and does not move the grid', () => {
    const cadence = { ...CADENCE, jitter: 0.5 }
    const first = run(startSchedule(millis(0)), 1, false, 0.5, cadence)
    expect(first.dueAt).toBe(1_250)
    expect(run(first, 1_260, false, 0, cadence).dueAt).toBe(2_000)
  })
})

describe('events', () => {
  const idle = run(startSchedule(millis(0)), 1)

  test('ask for a run at once, and the grid goes on from there', () => {
    const prompted = promptRun(idle, FAST, millis(400))
    expect(isDue(prompted, millis(400))).toBe(true)
    const looked = [402, 421, 441].reduce((schedule, at) => run(schedule, at), prompted)
    expect(looked.dueAt).toBe(1_440)
    expect(run(looked, 1_441).dueAt).toBe(2_440)
  })

  test('a look that finds all well is not believed: a process that dies is still connected to for a moment', () => {
    const prompted = promptRun(idle, FAST, millis(400))
    const first = run(prompted, 400.5)
    expect(first.dueAt).toBe(420)
    const second = run(first, 420.5)
    expect(second.dueAt).toBe(440)
    expect(run(second, 440.5).dueAt).toBe(1_440)
  })

  test('while a run is under way: another one when it has ended, because it may not have seen it', () => {
    const prompted = promptRun(beginRun(idle), FAST, millis(1_005))
    expect(isDue(prompted, millis(1_005))).toBe(false)
    expect(isDue(endRun(prompted, CADENCE, false, millis(1_010), 0.9), millis(1_010))).toBe(true)
  })

  test('a source that does not stop gets one run per fastInterval', () => {
    const once = run(promptRun(idle, FAST, millis(400)), 401)
    const again = promptRun(once, FAST, millis(401))
    expect(again.dueAt).toBe(420)
    expect(promptRun(again, FAST, millis(402)).dueAt).toBe(420)
  })

  test('a source that does not stop, not even during a run, gets one run per fastInterval', () => {
    let schedule = idle
    let runs = 0
    for (let now = 1_000; now < 2_000; now += 1) {
      if (!isDue(schedule, millis(now))) continue
      runs++
      schedule = endRun(promptRun(beginRun(schedule), FAST, millis(now)), CADENCE, false, millis(now), 0)
    }
    expect(runs, 'in one second, at a fastInterval of 20 ms').toBeLessThanOrEqual(51)
  })

  test('a poll just before puts no event off', () => {
    expect(promptRun(idle, FAST, millis(2)).dueAt).toBe(2)
  })
})

test('for any times and random numbers: the next run is due after now, within one interval and its jitter', () => {
  const number = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true })
  forAll(100, [number, number, fc.nat(10_000), fc.boolean()], (jitter, random, took, changing) => {
    const cadence = { ...CADENCE, jitter }
    const { dueAt, slot } = run(startSchedule(millis(0)), took, changing, random, cadence)
    const period = changing ? 20 : 1_000
    expect(slot).toBeGreaterThan(took)
    expect(slot - took).toBeLessThanOrEqual(period)
    expect(slot % period).toBe(0)
    expect(dueAt).toBeGreaterThanOrEqual(slot)
    expect(dueAt - slot).toBeLessThanOrEqual(period)
  })
})
