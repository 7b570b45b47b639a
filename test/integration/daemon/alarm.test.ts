/**
 * The alarm of the engine, whose timer is checked against the clock (docs/architecture.md). The test passes clock and
 * setTimeout as arguments.
 */
import { beforeEach, expect, test } from 'vitest'
import { Alarm, wakeUpBy } from '../../../src/daemon/alarm.ts'
import { millis } from '../../../src/wire/units.ts'

let now = 0
let waits: number[] = []
let fired: number[] = []
let pending: (() => void) | undefined
let cancelled = 0
let alarm: Alarm

beforeEach(() => {
  now = 1000.25
  waits = []
  fired = []
  pending = undefined
  cancelled = 0
  alarm = new Alarm(
    { now: () => millis(now) },
    (at) => fired.push(at),
    wakeUpBy((callback, wait) => {
      waits.push(wait)
      pending = callback
      return () => {
        cancelled++
        pending = undefined
      }
    }),
  )
})

function tickAt(at: number): void {
  now = at
  const callback = pending
  pending = undefined
  callback?.()
}

test('the alarm waits for the nearest whole millisecond, and at least one', () => {
  alarm.set(millis(1010.9))
  alarm.set(millis(1010.5))
  alarm.set(millis(1000.5))
  alarm.set(millis(900))
  expect(waits).toEqual([11, 10, 1, 1])
})

test('an early tick re-arms the timer and expires no deadline', () => {
  alarm.set(millis(1010.9))
  tickAt(1009.6)
  expect([fired, waits]).toEqual([[], [11, 1]])
  tickAt(1010.95)
  expect(fired).toEqual([1010.95])
})

test('a late tick passes on the present time', () => {
  alarm.set(millis(1010))
  tickAt(1500)
  expect(fired).toEqual([1500])
})

test('the same deadline again does not touch the timer, and another deadline replaces it', () => {
  alarm.set(millis(1010))
  alarm.set(millis(1010))
  expect([waits.length, cancelled]).toEqual([1, 0])
  alarm.set(millis(1005))
  expect([waits.length, cancelled]).toEqual([2, 1])
})

test('a deadline that has fired can be armed again', () => {
  alarm.set(millis(1010))
  tickAt(1010)
  alarm.set(millis(1010))
  expect(waits.length).toBe(2)
})

test('without a deadline the alarm sets no timer', () => {
  alarm.set(millis(1010))
  alarm.set(undefined)
  expect([cancelled, pending]).toEqual([1, undefined])
})

test('for a deadline a day away, the alarm reads the clock once a minute', () => {
  alarm.set(millis(now + 86_400_000))
  expect(waits).toEqual([60_000])
  tickAt(now + 60_000)
  expect([waits, fired]).toEqual([[60_000, 60_000], []])
})

test('a wake-up gets its own time, or a time shortly after now if its time has passed, so that the loop cannot spin', () => {
  const moments: number[] = []
  const fine = new Alarm(
    { now: () => millis(now) },
    () => {},
    () => ({ set: (at) => void moments.push(at), clear: () => {} }),
  )
  fine.set(millis(1010.9))
  fine.set(millis(1000.5))
  fine.set(millis(900))
  fine.set(millis(now + 86_400_000))
  expect(moments).toEqual([1010.9, 1000.5, 1001.25, 61_000.25])
})

test('with the real event loop the tick comes at its deadline, not before', async () => {
  const due = await new Promise<number>((resolve) => {
    const real = new Alarm({ now: () => millis(performance.now()) }, (at) => resolve(at - wanted))
    const wanted = millis(performance.now() + 20.5)
    real.set(wanted)
  })
  expect(due).toBeGreaterThanOrEqual(0)
})
