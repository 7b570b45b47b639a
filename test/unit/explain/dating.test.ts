/** When events of a node happened, and that its wall clock was set meanwhile. */
import { expect, test } from 'vitest'
import type { JournalEvent } from '../../../src/events/event.ts'
import { clockSteps, dated } from '../../../src/explain/dating.ts'

const HOUR = 3_600_000
const BEGIN = Date.parse('2026-11-22T10:00:00.000Z')
const reading = (monotonicMs: number, offset: number) => ({
  at: new Date(BEGIN + monotonicMs + offset).toISOString(),
  monotonicMs,
})
const events = (...offsets: readonly number[]): JournalEvent[] =>
  offsets.map((offset, i) => ({ seq: i + 1, ...reading(1_000 * i, offset), kind: 'stopped' }))
const whens = (of: readonly JournalEvent[], now?: ReturnType<typeof reading>) =>
  dated(of, now).map(({ at }) => (at - BEGIN) / 1_000)

test('events are dated by the last state of the clock, also if it was set back just before', () => {
  expect(whens(events(0, 0, 0))).toEqual([0, 1, 2])
  expect(whens(events(0, HOUR, HOUR))).toEqual([3_600, 3_601, 3_602])
  expect(whens(events(HOUR, HOUR, 0))).toEqual([0, 1, 2])
})

test('events are dated by the last state of the clock if no event was written after it was set', () => {
  const [of, now] = [events(HOUR, HOUR, HOUR), reading(60_000, 0)]
  expect(whens(of, now)).toEqual([0, 1, 2])
  expect(clockSteps(of, now)).toEqual([{ at: now.at, byMs: -HOUR }])
  expect(clockSteps(of)).toEqual([])
})

test('the clock reading of another boot does not date events of this boot', () => {
  const now = reading(500, HOUR)
  expect(whens(events(0, 0, 0), now)).toEqual([0, 1, 2])
  expect(clockSteps(events(0, 0, 0), now)).toEqual([])
})
