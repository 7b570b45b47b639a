/**
 * Three equal nodes (priority 40, and 50 more while the check is up) check the same backend, each at its own phase,
 * and lose it at the same moment. The first node to notice lowers its priority; the others keep theirs until their
 * next check. The loss moves nothing, and the return moves the addresses at most once, to the first node that is up
 * (docs/healthchecks.md, "All nodes lose the same backend"). Schedule, rules and state machine are the daemon's own.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { millis } from '../../src/wire/units.ts'
import { forAll } from '../support/for-all.ts'
import { type Answer, VirtualCheck } from '../support/virtual-check.ts'
import { VirtualLan } from '../support/virtual-lan.ts'

const NAMES = ['a', 'b', 'c'] as const
/** Times up to `longest` milliseconds, one for each node. */
const shares = fc.tuple(fc.nat(1000), fc.nat(1000), fc.nat(1000))

const outages = fc.record({
  seed: fc.integer({ min: 1, max: 2 ** 30 }),
  phases: shares,
  /**
   * How the backend fails: a dead process refuses connections and ends its own; a dead machine is silent and ends no
   * connection.
   */
  death: fc.constantFrom<readonly [Answer, boolean]>(['refused', true], ['refused', false], ['silent', false]),
  /**
   * Duration of the outage after all nodes have noticed it. A shorter outage may be noticed by one node alone, which is
   * another case.
   */
  lasts: fc.integer({ min: 0, max: 12_000 }),
  rise: fc.integer({ min: 1, max: 3 }),
  fall: fc.integer({ min: 1, max: 3 }),
  minHold: fc.constantFrom(0, 10_000),
})
type Outage = typeof outages extends fc.Arbitrary<infer T> ? T : never

type Pace = {
  /** Intervals of the advertisements and the polls, and the time after which a poll has failed, in ms. */
  readonly advertisement: number
  readonly interval: number
  readonly timeout: number
  /** Time in ms from the end of the outage until each node can reach the backend again. */
  readonly returns: readonly [number, number, number]
  /**
   * True if nodes trust their last result before a takeover; by default they repeat their checks, as the daemon does.
   */
  readonly believes?: boolean
}

function play(outage: Outage, { advertisement, interval, timeout, returns, believes = false }: Pace) {
  const { death, fall, lasts, minHold, phases, rise, seed } = outage
  const nodes = NAMES.map((name, i) => ({ name, priority: 40, host: 10 + i, minHold }))
  const lan = new VirtualLan({ nodes, interval: advertisement / 10, peers: true, seed, lateness: 0.5 })
  const backend: Answer[] = ['well', 'well', 'well']
  const rule = { rise, fall, initial: 'firstResult', onUnknown: 'hold', unknownAfter: millis(60_000) } as const
  const cadence = { interval: millis(interval), fastInterval: millis(Math.min(20, interval)), jitter: 0.1 }
  const checks = lan.nodes.map((node, i) => {
    const share = phases[i] ?? 0
    const random = () => ((share * 7 + Math.floor(lan.now) * 13) % 1000) / 1000
    const spec = { cadence, rule, timeout, base: 40, weight: 50, latency: 1 + share / 500, random, believes }
    return new VirtualCheck(lan, node, spec, () => backend[i] ?? 'well', (share / 1000) * interval)
  })
  lan.startAll()
  // The times of this list lie before and after the end of minHold since the election.
  lan.run(8 * advertisement + 1.1 * interval + (seed % 12_000))
  const before = lan.active.join()
  const lost = lan.now
  backend.fill(death[0])
  if (death[1])
    checks.forEach((check, i) => {
      lan.later(0.2 + (phases[i] ?? 0) / 300, () => check.prompt())
    })
  lan.run(1.1 * interval + (fall + 1) * (timeout + 20) + lasts)
  const back = lan.now
  returns.forEach((after, i) => {
    lan.later(after, () => backend.fill('well', i, i + 1))
  })
  lan.run(Math.max(...returns) + 2 * (interval + timeout) + 10 * advertisement + 10_000)
  const moves = lan.notes
    .filter(({ at, text }) => at >= lost && text.startsWith('Backup -> Active'))
    .map(({ at }) => at)
  return {
    lan,
    before,
    checks,
    after: lan.active.join(),
    moved: moves.filter((at) => at < back).length,
    movedBack: moves.filter((at) => at >= back).length,
    nobody: lan.longestReign((count) => count === 0, lost),
    two: lan.longestReign((count) => count > 1, lost),
  }
}

const story = (lan: VirtualLan) =>
  lan.notes
    .filter(({ text }) => !/periodic|refuses/.test(text))
    .map(({ at, node, text }) => `${at.toFixed(1)} ${node} ${text}`)
    .join('\n')

/** All nodes reach the backend again immediately; `spread`: each node at its own time. */
const AT_ONCE = [0, 0, 0] as const
const spread = shares.map(([a, b, c]): [number, number, number] => [a * 8, b * 8, c * 8])

test('with an advertisement interval of 1 s and polls every 1 s, no address moves', () => {
  forAll(80, [outages], (outage) => {
    const seen = play(outage, { advertisement: 1_000, interval: 1_000, timeout: 900, returns: AT_ONCE })
    const { moved, movedBack, nobody, two } = seen
    expect({ moved, movedBack, nobody, two }, story(seen.lan)).toEqual({ moved: 0, movedBack: 0, nobody: 0, two: 0 })
  })
})

test('nodes that reach the backend again one after the other make one move at most, to the first that is up', () => {
  forAll(40, [outages, spread, fc.constantFrom(100, 1_000)], (outage, returns, advertisement) => {
    const seen = play(outage, { advertisement, interval: 1_000, timeout: Math.min(900, advertisement), returns })
    expect([seen.moved, seen.nobody], story(seen.lan)).toEqual([0, 0])
    expect(seen.movedBack, story(seen.lan)).toBeLessThanOrEqual(1)
    // Nodes that are up within one advertisement of the first one have received the same advertisements. The higher
    // address among them is sooner.
    const first = Math.min(...seen.checks.map(({ upSince }) => upSince))
    const early = NAMES.filter((_, i) => (seen.checks[i]?.upSince ?? 0) <= first + advertisement)
    expect(seen.movedBack === 0 ? [seen.before] : early, story(seen.lan)).toContain(seen.after)
  })
})

test('the loss of the backend moves nothing while a poll takes no longer than an advertisement interval', () => {
  const paces = fc
    .record({
      advertisement: fc.constantFrom(100, 200, 1_000),
      slow: fc.integer({ min: 1, max: 30 }),
      share: fc.integer({ min: 1, max: 10 }),
    })
    .map(({ advertisement, slow, share }) => {
      const timeout = (advertisement * share) / 10
      return { advertisement, timeout, interval: Math.max(timeout, slow * 100), returns: AT_ONCE }
    })
  forAll(40, [outages, paces], (outage, pace) => {
    const seen = play(outage, pace)
    expect([seen.moved, seen.nobody], story(seen.lan)).toEqual([0, 0])
  })
})

test('without the repeated checks before a takeover, the addresses move', () => {
  const outage: Outage = {
    seed: 5,
    phases: [900, 500, 100],
    death: ['refused', false],
    lasts: 8_000,
    rise: 1,
    fall: 1,
    minHold: 0,
  }
  const pace = { advertisement: 1_000, interval: 3_000, timeout: 900, returns: AT_ONCE }
  const moves = (believes: boolean) =>
    [0, 300, 600, 900, 1_200].map(
      (later) => play({ ...outage, seed: outage.seed + later }, { ...pace, believes }).moved,
    )
  expect(Math.max(...moves(true))).toBeGreaterThan(0)
  expect(Math.max(...moves(false))).toBe(0)
})
