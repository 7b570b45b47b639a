/** How far two clocks are apart, out of what was sent and heard: shifted journals must give back the shift. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { JournalEvent } from '../../../src/events/event.ts'
import { eventsIn } from '../../../src/events/journal-file.ts'
import { type NodeJournal, timelineOf } from '../../../src/explain/timeline.ts'

const SAMPLES = join(import.meta.dirname, '..', '..', 'samples', 'journals')
const journal = (name: string, node: string): readonly JournalEvent[] =>
  eventsIn(readFileSync(join(SAMPLES, name, `${node}.jsonl`), 'utf8'))

/** The node has another wall clock, and a boot at another time. */
const shifted = (events: readonly JournalEvent[], byMs: number): readonly JournalEvent[] =>
  events.map((event) => {
    const moved = { at: new Date(Date.parse(event.at) + byMs).toISOString(), monotonicMs: event.monotonicMs + 1e6 }
    return event.kind === 'transition'
      ? { ...event, ...moved, decidedMs: event.decidedMs + 1e6 }
      : { ...event, ...moved }
  })

function offsetOf(name: string, byMs: number, clock?: NodeJournal['clock']) {
  const [r1, r2] = [journal(name, 'r1'), shifted(journal(name, 'r2'), byMs)]
  const [, other] = timelineOf([
    { name: 'r1', events: r1 },
    { name: 'r2', events: r2, clock },
  ]).nodes
  if (other === undefined) throw new Error('there are two nodes')
  return other.offset
}

const NAMES = ['sigterm', 'yield', 'check-fails', 'reload', 'engine-frozen']

describe.each(NAMES)('%s', (name) => {
  const own = offsetOf(name, 0).ms

  test.each([0, 250, -3_000, 40_000, -3_600_000])('the offset of a clock that is set %i ms ahead is found', (byMs) => {
    const { by, ms, pairs } = offsetOf(name, byMs)
    expect({ by, pairs: pairs > 0 }).toEqual({ by: 'transmissions', pairs: true })
    expect(Math.abs(ms - own - byMs), `ms off: ${ms} instead of ${byMs}`).toBeLessThan(100)
  })
})

test('an answer of the node selects one of several possible offsets', () => {
  const { by, ms } = offsetOf('cable-cut', 7_000, { offsetMs: 7_010, errorMs: 20 })
  expect(by).toBe('transmissions')
  expect(Math.abs(ms - 7_000)).toBeLessThan(100)
})

test('without a matching transmission the answer gives the offset, and without an answer it is unknown', () => {
  expect(offsetOf('cable-cut', 7_000, { offsetMs: 90_000, errorMs: 20 })).toEqual({
    by: 'answer',
    ms: 90_000,
    errorMs: 20,
    pairs: 0,
  })
  const silent = timelineOf([
    { name: 'r1', events: [] },
    { name: 'r2', events: journal('sigterm', 'r2') },
  ])
  expect(silent.nodes[1]?.offset).toMatchObject({ by: 'nothing', ms: 0 })
})

test('a step of the wall clock while the daemon runs does not shift earlier events', () => {
  const events = journal('sigterm', 'r1')
  const stepped = events.map((event, i) =>
    i < 7 ? { ...event, at: new Date(Date.parse(event.at) - 3_600_000).toISOString() } : event,
  )
  const [plain, odd] = [timelineOf([{ name: 'r1', events }]), timelineOf([{ name: 'r1', events: stepped }])]
  expect(odd.entries.map(({ at }) => at)).toEqual(plain.entries.map(({ at }) => at))
})
