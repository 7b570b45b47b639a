/**
 * 2–5 routers on one LAN, each with its own clock, after any accident: packets are lost, nodes are cut, stalled or
 * switched off. After the accident exactly one router is Active, the right one, in time. On a LAN without faults two
 * are never Active for longer than one exchange. Times are virtual; a failure prints the seed, the story and all
 * events.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compareAddresses } from '../../src/wire/address.ts'
import { forAll } from '../support/for-all.ts'
import { type LanSpec, VirtualLan } from '../support/virtual-lan.ts'

const PROFILES = ['holdfast', 'rfc9568'] as const
const NAMES = ['a', 'b', 'c', 'd', 'e'] as const
const LATENCY = 0.2

/** Few different priorities, so that equal priorities are common. */
const priority = fc.oneof(fc.constantFrom(50, 100, 200), fc.integer({ min: 1, max: 254 }))

const spec = (preempt: boolean): fc.Arbitrary<LanSpec & { interval: number }> =>
  fc
    .record({
      profile: fc.constantFrom(...PROFILES),
      interval: fc.constantFrom(1, 10, 100),
      peers: fc.boolean(),
      seed: fc.integer({ min: 1, max: 2 ** 31 }),
      minHold: fc.constantFrom(0, 10_000),
      nodes: fc.uniqueArray(
        fc.record({
          priority,
          host: fc.integer({ min: 1, max: 250 }),
          offset: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 1_000_000 })),
        }),
        { minLength: 2, maxLength: 5, selector: ({ host }) => host },
      ),
    })
    .map(({ nodes, minHold, ...rest }) => ({
      ...rest,
      latency: LATENCY,
      nodes: nodes.map((node, i) => ({ ...node, name: NAMES[i] ?? 'e', preempt, minHold })),
    }))

/** Positions are taken modulo the number of nodes; waits are in tenths of the interval. */
const accident = fc.record({
  kind: fc.constantFrom('cut', 'heal', 'cutOneWay', 'stall', 'crash', 'shutdown', 'yield', 'start', 'priority', 'loss'),
  who: fc.nat({ max: 4 }),
  other: fc.nat({ max: 4 }),
  value: fc.integer({ min: 1, max: 254 }),
  wait: fc.integer({ min: 0, max: 60 }),
})
type Accident = typeof accident extends fc.Arbitrary<infer T> ? T : never

function happen(lan: VirtualLan, { kind, who, other, value }: Accident, interval: number): void {
  const nameAt = (position: number) => lan.nodes[position % lan.nodes.length]?.name ?? 'a'
  const name = nameAt(who)
  const { running, state } = lan.node(name)
  switch (kind) {
    case 'cut':
      return lan.cut(name)
    case 'heal':
      return lan.heal(name)
    case 'cutOneWay':
      return lan.cutOneWay(name, nameAt(other))
    case 'stall':
      // Up to five Active_Down_Intervals; a stopped node cannot stall.
      if (running) lan.stall(name, (value / 12) * interval)
      return
    case 'crash':
      return running ? lan.crash(name) : undefined
    case 'shutdown':
      return running ? lan.shutdown(name) : undefined
    case 'yield':
      return running ? lan.yield(name) : undefined
    case 'start':
      return !running || state.name === 'Initialize' ? lan.start(name) : undefined
    case 'priority':
      return lan.setPriority(name, value)
    case 'loss':
      lan.loss = value / 512
  }
}

/** Ends all faults: afterwards no cut, no loss, no stalled or stopped node, and constant priorities. */
function calm(lan: VirtualLan, interval: number): void {
  lan.healAll()
  lan.loss = 0
  // Stalled nodes wake up, and leaving nodes are gone or back, before the measured time begins.
  lan.run(Math.max(0, ...lan.nodes.map((node) => (node.stalledUntil ?? lan.now) - lan.now)))
  const nobodyLeaves = () => lan.nodes.every(({ state }) => state.name !== 'Leaving')
  lan.runUntil('Leaving to end', nobodyLeaves, 2 * interval + 20)
  for (const { name, running, state } of lan.nodes) if (!running || state.name === 'Initialize') lan.start(name)
}

const story = (lan: VirtualLan) => lan.notes.map(({ at, node, text }) => `${at.toFixed(3)} ${node} ${text}`).join('\n')

function check(lan: VirtualLan, body: () => void): void {
  try {
    body()
  } catch (error) {
    throw new Error(`${error instanceof Error ? error.message : error}\n${story(lan)}`)
  }
}

describe('a LAN of single routers after any accidents', () => {
  test.each([
    ['the highest priority', true],
    ['somebody (Preempt_Mode False)', false],
  ] as const)('exactly one is Active within one Active_Down_Interval: %s', (_who, preempt) => {
    forAll(400, [spec(preempt), fc.array(accident, { maxLength: 25 })], (lanSpec, accidents) => {
      const lan = new VirtualLan(lanSpec)
      const interval = lanSpec.interval * 10
      check(lan, () => {
        lan.startAll()
        for (const one of accidents) {
          happen(lan, one, interval)
          lan.run((one.wait * interval) / 10)
        }
        calm(lan, interval)
        // The slowest Active_Down_Interval, the last in rank, and one exchange.
        const bound = 4 * interval + 4 * 3 + 4 * LATENCY
        lan.run(bound)
        const [winner, ...others] = lan.nodes.filter(({ state }) => state.name === 'Active')
        expect(
          others.map(({ name }) => name),
          `Actives beside ${winner?.name} at ${lan.now} ms`,
        ).toEqual([])
        const best = Math.max(...lan.nodes.map(({ parameters }) => parameters.priority))
        if (preempt) expect(winner?.parameters.priority, `priority of the Active at ${lan.now} ms`).toBe(best)
        expect(lan.holders, `who answers at ${lan.now} ms`).toEqual([winner?.name])
        const settled = lan.now
        lan.run(5 * interval)
        expect(
          lan.longestReign((count) => count !== 1, settled),
          'ms without exactly one Active, afterwards',
        ).toBe(0)
        expect(lan.active, 'the Active stays').toEqual([winner?.name])
      })
    })
  })
})

describe('a LAN that loses no packet', () => {
  test('has two Actives no longer than one exchange, and two nodes that answer no longer than Leaving allows', () => {
    const harmless = accident.filter(({ kind }) => !['cut', 'heal', 'cutOneWay', 'stall', 'loss'].includes(kind))
    forAll(400, [spec(true), fc.array(harmless, { maxLength: 25 })], (lanSpec, accidents) => {
      const lan = new VirtualLan(lanSpec)
      const interval = lanSpec.interval * 10
      check(lan, () => {
        lan.startAll()
        for (const one of accidents) {
          happen(lan, one, interval)
          lan.run((one.wait * interval) / 10)
        }
        lan.run(5 * interval)
        expect(
          lan.longestReign((count) => count > 1),
          'longest time with two Actives, ms',
        ).toBeLessThanOrEqual(3 * LATENCY)
        expect(
          lan.longest((count) => count > 1),
          'longest time with two answering, ms',
        ).toBeLessThanOrEqual(5 + 3 * LATENCY)
      })
    })
  })

  test.each(PROFILES)(
    'elects the highest priority from a cold start, and among equals the highest address (%s)',
    (profile) => {
      forAll(200, [spec(true)], (lanSpec) => {
        const lan = new VirtualLan({ ...lanSpec, profile })
        check(lan, () => {
          lan.startAll()
          lan.run(4.1 * lanSpec.interval * 10 + 15)
          const best = [...lan.nodes].sort(
            (a, b) =>
              b.parameters.priority - a.parameters.priority ||
              compareAddresses(b.parameters.primaryAddress, a.parameters.primaryAddress),
          )[0]
          expect(lan.active, 'who is Active').toEqual([best?.name])
        })
      })
    },
  )
})

describe('three nodes of equal priority', () => {
  const nodes = [1, 2, 3].map((host) => ({ name: `n${host}`, priority: 100, host: host * 9 }))

  /** Returns the number of `moves` in which a silent death had one successor and no second Active. */
  function singleMoves(peers: boolean, interval: number, lateness: number, moves: number): number {
    let single = 0
    for (let seed = 1; seed <= moves; seed++) {
      const lan = new VirtualLan({ nodes, peers, interval, latency: LATENCY, lateness, seed: seed * 7919 })
      lan.startAll()
      lan.run(interval * (50 + (seed % 20)))
      const dead = lan.active[0] ?? ''
      const since = lan.now
      lan.crash(dead)
      lan.run(interval * 60)
      expect(lan.active, `one Active after the death of ${dead}, seed ${seed}`).toHaveLength(1)
      const became = lan.notes.filter(({ at, text }) => at > since && text.startsWith('Backup -> Active'))
      if (became.length === 1) single += 1
    }
    return single
  }

  test.each([
    [1, 0.4],
    [10, 2.5],
    [100, 2.5],
  ])('interval %i cs, timers up to %f ms late: with known peers 95 of 100 moves make one Active', (interval, late) => {
    expect(singleMoves(true, interval, late, 100)).toBeGreaterThanOrEqual(95)
  })

  test('collide as successors without known peers, which the stagger otherwise prevents', () => {
    expect(singleMoves(false, 100, 0.4, 100)).toBeLessThan(60)
  })
})
