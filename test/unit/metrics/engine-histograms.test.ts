/** What the engine measures: gaps between advertisements, the phases of a takeover, late timers; each in its bucket. */
import { describe, expect, test } from 'vitest'
import { TakeoverWatch, takeoverTimes } from '../../../src/daemon/telemetry/takeover-watch.ts'
import { Histogram } from '../../../src/metrics/histogram.ts'
import { type HistogramName, METRICS } from '../../../src/metrics/names.ts'
import { address } from '../../../src/wire/address.ts'
import { millis } from '../../../src/wire/units.ts'
import { wholeReport } from '../../support/engine-reports.ts'
import { FakeWorld, failure, ROUTER, VIP, VIP2 } from '../daemon/fake-world.ts'

/** Bucket (its bound) → values in it, and the sum; those of one label value, or of all. */
function measured(world: FakeWorld, name: HistogramName, label?: string) {
  const { buckets } = METRICS[name]
  const found = wholeReport(world.daemon).distributions.filter((one) => one.name === name)
  const wanted = found.find(({ labels }) => label === undefined || Object.values(labels).includes(label))
  const cells = [...(wanted?.cells ?? [])]
  const filled = cells
    .slice(0, -1)
    .flatMap((count, i) => (count === 0 ? [] : [[buckets[i] ?? 'above', count] as const]))
  return { ...Object.fromEntries(filled), sum: Math.round((cells.at(-1) ?? Number.NaN) * 1e6) / 1e6 }
}

test('a value falls into the first bucket that is not below it, or above all of them', () => {
  const histogram = new Histogram([1, 2, 5])
  for (const value of [0, 1, 1.001, 2, 5, 5.001, 100]) histogram.observe(value)
  expect([...histogram.read()]).toEqual([2, 2, 1, 2, 114.002])
  histogram.read().fill(0)
  expect([...histogram.read()], 'what is read is a copy').toEqual([2, 2, 1, 2, 114.002])
})

describe('gaps between advertisements', () => {
  const GAP = 'holdfast_vrrp_advertisement_gap_seconds'
  const RATIO = 'holdfast_vrrp_advertisement_gap_ratio'

  test('of the Active that a Backup follows, in seconds and in intervals', () => {
    const world = new FakeWorld().start()
    world.hear(200)
    expect(measured(world, GAP), 'the first one has none before it').toEqual({ sum: 0 })
    for (const wait of [1_000, 1_000, 2_100, 400]) {
      world.advance(wait)
      world.hear(200)
    }
    expect(measured(world, GAP, 'api')).toEqual({ 0.5: 1, 1.5: 2, 2.5: 1, sum: 4.5 })
    expect(measured(world, RATIO, 'api')).toEqual({ 0.5: 1, 1.1: 2, 2.5: 1, sum: 4.5 })
  })

  test('another Active, one that is refused, and our own time as Active are none', () => {
    const world = new FakeWorld().start()
    world.hear(200)
    world.advance(1_000)
    world.hear(210, { source: '10.0.0.13' })
    world.advance(900)
    world.hear(50, { source: '10.0.0.14' })
    expect(measured(world, GAP)).toEqual({ sum: 0 })
    world.advance(4_000)
    expect(world.router().state).toBe('Active')
    world.hear(200)
    expect(measured(world, GAP), 'after a time as Active').toEqual({ sum: 0 })
  })
})

describe('phases of a takeover', () => {
  const TOOK = 'holdfast_vrrp_takeover_duration_seconds'
  const counts = (world: FakeWorld) =>
    Object.fromEntries(
      ['advertised', 'addresses', 'firstAnnouncement', 'announced'].map((phase) => {
        const found = wholeReport(world.daemon).distributions.find(
          ({ labels, name }) => name === TOOK && labels.phase === phase,
        )
        return [phase, found?.cells.slice(0, -1).reduce((all, count) => all + count, 0)]
      }),
    )
  const ALL = { advertised: 1, addresses: 1, firstAnnouncement: 1, announced: 1 }
  const NONE = { advertised: 0, addresses: 0, firstAnnouncement: 0, announced: 0 }

  test('each once, when the router is Active with its addresses announced', () => {
    const world = new FakeWorld([{ ...ROUTER, addresses: [`${VIP}/24`, `${VIP2}/24`] }]).start()
    expect(counts(world)).toEqual(NONE)
    world.advance(4_000)
    expect(world.router().state).toBe('Active')
    expect(counts(world)).toEqual(ALL)
    world.advance(70_000)
    expect(counts(world), 'repeats and refreshes are none').toEqual(ALL)
  })

  test('one that is not reached is not counted', () => {
    const world = new FakeWorld().start()
    world.sendFailure = failure('ENOBUFS')
    world.advance(4_000)
    expect([world.router().state, counts(world).advertised]).toEqual(['Active', 0])
  })

  test('measured by the clock, each from the decision, and a second takeover anew', () => {
    let now = 1_000
    const times = takeoverTimes({ now: () => millis(now) })
    const announced: number[] = []
    const watch = new TakeoverWatch(times, (addresses) => announced.push(addresses))
    const [one, two] = [address('192.0.2.1'), address('192.0.2.2')]
    const sum = (phase: keyof typeof times.phases) => Math.round((times.phases[phase].read().at(-1) ?? 0) * 1e6) / 1e6
    const sums = () => [sum('advertised'), sum('addresses'), sum('firstAnnouncement'), sum('announced')]

    watch.announced(one)
    watch.begin([one, two], false, millis(1_000))
    now = 1_001
    watch.advertised()
    now = 1_003
    watch.installed()
    now = 1_004
    watch.announced(one)
    now = 1_009
    watch.announced(one)
    watch.announced(two)
    expect(sums()).toEqual([0.001, 0.003, 0.004, 0.009])
    now = 2_000
    watch.announced(two)
    watch.advertised()
    expect(sums(), 'it is over').toEqual([0.001, 0.003, 0.004, 0.009])

    expect(announced, 'told once, with how many').toEqual([2])

    watch.begin([one], true, millis(2_000))
    watch.installed()
    now = 2_002
    watch.advertised()
    watch.end()
    watch.announced(one)
    expect(sums(), 'an owner has nothing to install; who resigns announces no more').toEqual([
      0.003, 0.003, 0.004, 0.009,
    ])
  })
})

test('a late timer', () => {
  const world = new FakeWorld().start()
  world.hear(200)
  const before = measured(world, 'holdfast_engine_timer_lateness_seconds')
  world.stall(3_600)
  const after = measured(world, 'holdfast_engine_timer_lateness_seconds')
  expect(after.sum - before.sum, 's that a timer was late for').toBeGreaterThan(0.08)
  expect(after.sum - before.sum).toBeLessThan(0.2)
})
