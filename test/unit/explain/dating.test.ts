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

test('by the clock as it is at the end, also when it was set back a moment before', () => {
  expect(whens(events(0, 0, 0))).toEqual([0, 1, 2])
  expect(whens(events(0, HOUR, HOUR))).toEqual([3_600, 3_601, 3_602])
  expect(whens(events(HOUR, HOUR, 0))).toEqual([0, 1, 2])
})

test('also when nothing has been written down since it was set', () => {
  const [of, now] = [events(HOUR, HOUR, HOUR), reading(60_000, 0)]
  expect(whens(of, now)).toEqual([0, 1, 2])
  expect(clockSteps(of, now)).toEqual([{ at: now.at, byMs: -HOUR }])
  expect(clockSteps(of)).toEqual([])
})

test('what a node of another boot says now tells nothing of this one', () => {
  const now = reading(500, HOUR)
  expect(whens(events(0, 0, 0), now)).toEqual([0, 1, 2])
  expect(clockSteps(events(0, 0, 0), now)).toEqual([])
})
