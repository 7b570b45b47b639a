import { describe, expect, test } from 'vitest'
import { Chronicle, MOST_KEPT } from '../../../src/daemon/telemetry/chronicle.ts'
import type { JournalEvent } from '../../../src/events/event.ts'
import { eventPageSchema } from '../../../src/events/event-page.ts'

function chronicle() {
  let now = 0
  const clock = { wall: () => 1_000_000 + now, monotonic: () => 5_000 + now++ }
  return new Chronicle(clock)
}

describe('the journal in memory', () => {
  test('the journal numbers facts, adds both clocks, and gives pages that match its schema', () => {
    const journal = chronicle()
    journal.record({ kind: 'stopOrdered', trigger: 'SIGTERM' })
    journal.record({ kind: 'stopped' })
    const page = journal.read()
    expect(eventPageSchema.parse(page)).toEqual(page)
    expect(page.events).toMatchObject([
      { seq: 1, at: '1970-01-01T00:16:40.000Z', monotonicMs: 5_000, kind: 'stopOrdered' },
      { seq: 2, at: '1970-01-01T00:16:40.001Z', monotonicMs: 5_001, kind: 'stopped', because: 1 },
    ])
    expect(page).toMatchObject({ oldest: 1, latest: 2, file: null })
  })

  test('the journal returns the events after a number, the oldest first', () => {
    const journal = chronicle()
    for (let i = 0; i < 5; i++) journal.record({ kind: 'packetsLost', interface: 'eth0', count: i + 1 })
    const following = (seq: number, limit?: number) =>
      journal.read({ after: seq, ...(limit === undefined ? {} : { limit }) }).events.map((each) => each.seq)
    expect(following(2)).toEqual([3, 4, 5])
    expect(following(2, 2)).toEqual([3, 4])
    expect(following(9)).toEqual([])
    expect(journal.read({ limit: 2 }).events.map(({ seq }) => seq)).toEqual([4, 5])
  })

  test('the journal removes the oldest events', () => {
    const journal = chronicle()
    for (let i = 0; i < 5 * MOST_KEPT; i++) journal.record({ kind: 'stopped' })
    const { events, oldest, latest } = journal.read()
    expect([events.length, oldest, latest]).toEqual([MOST_KEPT, 4 * MOST_KEPT + 1, 5 * MOST_KEPT])
  })

  test('the journal continues the numbers of an earlier run, and renumbers the causes of newer events', () => {
    const earlier = chronicle()
    for (let i = 0; i < 7; i++) earlier.record({ kind: 'stopped' })
    const journal = chronicle()
    journal.record({ kind: 'stopOrdered', trigger: 'SIGTERM' })
    journal.record({ kind: 'stopped' })
    journal.continue(earlier.read().events)
    journal.record({ kind: 'stopped' })
    expect(journal.read({ after: 6 }).events.map(({ seq, because }) => [seq, because])).toEqual([
      [7, undefined],
      [8, undefined],
      [9, 8],
      [10, 8],
    ])
  })

  test('the journal calls a listener for each event until the listener ends it', () => {
    const journal = chronicle()
    const heard: JournalEvent[] = []
    const end = journal.subscribe((event) => heard.push(event))
    journal.record({ kind: 'stopped' })
    end()
    journal.record({ kind: 'stopped' })
    expect(heard.map(({ seq }) => seq)).toEqual([1])
  })
})
