/** How explain reports an engine that crashed and was restarted by its guardian, from a journal that this test makes. */
import { expect, test } from 'vitest'
import type { Fact, JournalEvent } from '../../../src/events/event.ts'
import { storyOf } from '../../../src/explain/story.ts'

const BEGIN = Date.parse('2026-11-22T21:00:00.000Z')

type Made = Fact & { readonly ms: number }

const journal = (...facts: readonly Made[]): readonly JournalEvent[] =>
  facts.map(
    ({ ms, ...fact }, i): JournalEvent => ({
      ...fact,
      ...{ seq: i + 1, at: new Date(BEGIN + ms).toISOString(), monotonicMs: 1_000_000 + ms },
    }),
  )

const started = (ms: number, pid: number): Made => ({
  ...{ ms, kind: 'started', pid, hostname: 'r1', version: '0.2.0', config: '/nowhere.yaml', guardian: true },
})
const life = (...more: readonly Made[]): readonly JournalEvent[] =>
  journal(started(0, 7), ...more, started(60_200, 8), {
    ...{ ms: 60_300, kind: 'earlierLife', ended: 'abruptly', pid: 7 },
    ...{ lastSeq: 1, lastAt: new Date(BEGIN).toISOString() },
  })

const causesIn = (events: readonly JournalEvent[]): readonly string[] => {
  const { incidents } = storyOf([{ name: 'r1', events, now: undefined }], { router: undefined, since: 0, problems: [] })
  return incidents.map(({ cause }) => cause)
}

test('a restart that kept addresses is one incident, and not an abrupt end', () => {
  const restarted: Made = { ms: 60_190, kind: 'engineRestarted', routers: ['vip'], tookMs: 190, restarts: 1 }
  expect(causesIn(life(restarted))).toEqual(['engineRestarted'])
})

test('a restart that kept no address leaves the abrupt end as the incident', () => {
  const restarted: Made = { ms: 60_190, kind: 'engineRestarted', routers: [], tookMs: 190, restarts: 1 }
  expect(causesIn(life(restarted))).toEqual(['died'])
})
