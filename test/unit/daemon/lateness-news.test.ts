/** A late engine, and missing advertisements: what the journal records of them, and how often. */
import { expect, test } from 'vitest'
import { GapNews } from '../../../src/daemon/telemetry/advertisement-gaps.ts'
import { Chronicle } from '../../../src/daemon/telemetry/chronicle.ts'
import { LatenessNews } from '../../../src/daemon/telemetry/lateness-news.ts'
import { address } from '../../../src/wire/address.ts'
import { millis } from '../../../src/wire/units.ts'

const PEER = address('10.0.0.2')
const OTHER = address('10.0.0.3')

test.each([
  [49, 10, false],
  [50, 10, true],
  [50, 100, true],
  [499, 1_000, false],
  [500, 1_000, true],
  [499, 40_000, false],
  [500, 40_000, true],
])('%i ms late with intervals of %i ms: in the journal %s', (late, interval, isNews) => {
  const chronicle = new Chronicle()
  new LatenessNews(chronicle).note(late, () => interval, millis(0))
  expect(chronicle.read().events.map(({ kind }) => kind)).toEqual(isNews ? ['engineLate'] : [])
})

test('an engine that is always late is recorded at a limited rate, with the number', () => {
  const chronicle = new Chronicle()
  const news = new LatenessNews(chronicle)
  for (let i = 0; i < 100; i++) news.note(60, () => 100, millis(i))
  expect(chronicle.read().events).toHaveLength(20)
  news.note(60, () => 100, millis(60_000))
  expect(chronicle.read().events.at(-1)).toMatchObject({ kind: 'engineLate', suppressed: 80 })
})

const heard = (source: typeof PEER, at: number) => ({ source, priority: 200, heardAt: millis(at) })

test('a missing advertisement is recorded, and one that is late by half an interval is not', () => {
  const chronicle = new Chronicle()
  const news = new GapNews(chronicle)
  news.note('vip', heard(PEER, 0), 150, 100)
  expect(chronicle.read().events).toEqual([])
  news.note('vip', heard(PEER, 0), 200, 100)
  expect(chronicle.read().events).toMatchObject([
    { kind: 'advertisementsMissed', router: 'vip', peer: PEER, gapMs: 200, interval: 100, count: 1 },
  ])
})

test('255 routers that miss the same advertisement cause one event', () => {
  const chronicle = new Chronicle()
  const news = new GapNews(chronicle)
  for (let i = 0; i < 255; i++) news.note(`vip${i}`, heard(PEER, 0), i === 7 ? 310 : 200, 100)
  news.note('vip1', heard(OTHER, 0), 200, 100)
  expect(chronicle.read().events).toMatchObject([
    { peer: PEER, count: 1 },
    { peer: OTHER, count: 1 },
  ])
  news.note('vip3', heard(PEER, 10_000), 200, 100)
  expect(chronicle.read().events.at(-1)).toMatchObject({ peer: PEER, count: 255, gapMs: 310 })
})

test('invented sources are not remembered without end: the count of the first one is forgotten after 64 others', () => {
  const chronicle = new Chronicle()
  const news = new GapNews(chronicle)
  for (let i = 0; i < 3; i++) news.note('vip', heard(PEER, 0), 200, 100)
  for (let i = 0; i < 64; i++) news.note('vip', heard(address(`10.1.0.${i}`), 0), 200, 100)
  news.note('vip', heard(PEER, 1), 200, 100)
  expect(chronicle.read().events.filter(({ kind }) => kind === 'advertisementsMissed')).toHaveLength(66)
  expect(chronicle.read().events.at(-1)).toMatchObject({ peer: PEER, count: 1 })
})
