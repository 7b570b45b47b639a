/** The one judge, with the rules of the chaos suite: what breaks a bound is seen and told, and a plan is repeatable. */
import { describe, expect, test } from 'vitest'
import { type History, type Sight, spans } from '../../../src/lab/watch/history.ts'
import { chaosRules } from '../../chaos/bounds.ts'
import type { Injected } from '../../chaos/chaos-run.ts'
import { type Fault, type FaultKind, KINDS, makePlan, VARIANTS } from '../../chaos/plan.ts'
import { chaosBounds } from '../../chaos/report.ts'
import { judge, longest } from '../../judge/judge.ts'
import { accountOf } from '../../judge/report.ts'
import { expectPart } from '../../support/generated-document.ts'
import { history, seen } from './histories.ts'

const fault = (kind: FaultKind, ms = 0, variant = ''): Fault => {
  return { id: 1, at: 0, kind, variant, node: 'r1', ms, overlapping: false }
}
const done = (kind: FaultKind, at: number, end: number, variant = ''): Injected => {
  return { fault: fault(kind, end - at, variant), at, end, hit: true }
}

function judged(holders: readonly Sight[], injected: readonly Injected[], more: Partial<History> = {}) {
  const histories = [{ ...seen(holders), ...more }]
  return judge(chaosRules(100), { histories, happened: injected, window: { from: 0, to: 10_000 } })
}
const told = (...of: Parameters<typeof judged>) =>
  judged(...of).violations.map(({ question, expected, seen }) => `${question}: ${expected}: ${seen}`)

describe('a plan', () => {
  const seed = { seed: 7, seconds: 60, atLeast: 30 }
  test('is the same for the same seed, and another for another', () => {
    expect(makePlan(seed)).toEqual(makePlan(seed))
    expect(makePlan({ ...seed, seed: 8 })).not.toEqual(makePlan(seed))
  })

  test.each([1, 2, 3, 4, 5])('lasts as long and has as many faults as asked for, of every kind (seed %i)', (number) => {
    const { faults, ms } = makePlan({ ...seed, seed: number })
    expect(ms).toBeGreaterThanOrEqual(60_000)
    expect(faults.length).toBeGreaterThanOrEqual(30)
    expect(new Set(faults.map(({ kind }) => kind))).toEqual(new Set(KINDS))
  })

  test('hurts two nodes at a time at most, and then different ones', () => {
    const { faults } = makePlan({ ...seed, seconds: 1_800 })
    for (const one of faults) {
      const others = faults.filter(
        (other) => other !== one && other.at <= one.at + one.ms && one.at <= other.at + other.ms,
      )
      expect(others.length, JSON.stringify([one, ...others])).toBeLessThanOrEqual(1)
      expect(others.map(({ node }) => node)).not.toContain(one.node)
    }
  })
})

describe('the assessment', () => {
  test('a hand-over on a quiet LAN is none', () => {
    expect(told(history(['r1', 1_000], ['r1 r2', 1_020], ['r2', 10_000]), [])).toEqual([])
  })

  test('two on a quiet LAN is one', () => {
    const holders = history(['r1', 1_000], ['r1 r2', 1_030], ['r2', 10_000])
    expect(told(holders, [])).toEqual(['two: two nodes answering for at most 25 ms: 30.0 ms'])
  })

  test('no answer for longer than Active_Down_Interval after a link went', () => {
    const flap = [done('link flap', 1_000, 3_000)]
    expect(told(history(['r1', 1_000], ['', 1_380], ['r2', 10_000]), flap)).toEqual([])
    expect(told(history(['r1', 1_000], ['', 1_400], ['r2', 10_000]), flap)).toEqual([
      'none: no node answering for at most 386 ms: 400.0 ms',
    ])
  })

  test('what UDP says counts as well as ARP', () => {
    const holders = history(['r1', 10_000])
    const hole = [{ from: 2_000, to: 2_040 }]
    expect(told(holders, [], { unanswered: hole })).toEqual(['none: no node answering for at most 25 ms: 40.0 ms'])
    expect(told(holders, [], { stranded: hole })).toEqual(['client: the client unanswered for at most 25 ms: 40.0 ms'])
  })

  test('what ARP and UDP saw of one time is one outage', () => {
    const holders = history(['r1', 2_000], ['', 2_020], ['r1', 10_000])
    expect(told(holders, [], { unanswered: [{ from: 2_010, to: 2_030 }] })).toEqual([
      'none: no node answering for at most 25 ms: 30.0 ms',
    ])
  })

  test('a part of an outage is held against the faults near to it alone', () => {
    // By ARP 390 ms after a link went; by UDP on into another fault, whose bound would add up.
    const holders = history(['r1', 1_000], ['', 1_390], ['r2', 10_000])
    const injected = [done('link flap', 1_000, 1_100), done('link flap', 1_450, 1_900)]
    expect(told(holders, injected, { unanswered: [{ from: 1_389, to: 1_700 }] })).toEqual([
      'none: no node answering for at most 386 ms: 390.0 ms',
    ])
  })

  test('a violation says how long the observer did not run', () => {
    const hole = [{ from: 2_000, to: 2_040 }]
    const blind = [{ from: 1_990, to: 2_018 }]
    const [violation] = judged(history(['r1', 10_000]), [], { unanswered: hole, blind }).violations
    expect(violation).toMatchObject({ over: 15, unseen: 18 })
  })

  test('two for the whole of a partition that the client bridges, and not longer than the next advertisement', () => {
    const cut = [done('partition', 1_000, 4_000, 'routers')]
    expect(told(history(['r1', 1_300], ['r1 r2 r3', 4_100], ['r1', 10_000]), cut)).toEqual([])
    expect(told(history(['r1', 1_300], ['r1 r2 r3', 4_200], ['r1', 10_000]), cut)).toEqual([
      'two: two nodes answering for at most 125 ms outside the fault: 200.0 ms of 2900.0',
    ])
  })

  test('a dead node that keeps the address for longer than its lifetime', () => {
    const holders = history(['r1', 1_300], ['r1 r2', 4_000], ['r2', 10_000])
    expect(told(holders, [done('kill group', 1_000, 1_000)])).toEqual([
      'two: two nodes answering for at most 2200 ms: 2700.0 ms',
    ])
  })

  test('a frozen engine: what the bound allows during the freeze is not allowed after it', () => {
    const frozen = [done('freeze both', 1_000, 2_000)]
    expect(told(history(['r1', 1_340], ['r1 r2', 2_040], ['r2', 10_000]), frozen)).toEqual([])
    expect(told(history(['r1', 1_340], ['r1 r2', 2_090], ['r2', 10_000]), frozen)).toEqual([
      'two: two nodes answering for at most 50 ms after the end: 90.0 ms of 750.0',
    ])
  })

  test('a frozen Backup that takes over for a moment from an Active that it could have heard', () => {
    const holders = history(['r2', 2_000], ['r1 r2', 2_010], ['r2', 10_000])
    expect(told(holders, [done('freeze engine', 1_000, 1_995)])).toEqual([
      'two: two nodes answering for at most 0 ms: 10.0 ms',
    ])
    const rightful = history(['r2', 1_200], ['r1', 2_000], ['r1 r2', 2_010], ['r2', 10_000])
    expect(told(rightful, [done('freeze engine', 1_000, 1_995)])).toEqual([])
    const others = history(['r2', 2_000], ['r2 r3', 2_010], ['r3', 10_000])
    expect(told(others, [done('freeze engine', 1_000, 1_995)])).toEqual([])
  })

  test('faults laid over each other have the sum of their bounds', () => {
    const both = [done('kill engine', 1_000, 1_000), done('link flap', 1_050, 2_000)]
    expect(told(history(['r1', 1_000], ['', 1_460], ['r3', 10_000]), both)).toEqual([])
    expect(told(history(['r1', 1_000], ['', 1_480], ['r3', 10_000]), both)).toEqual([
      'none: no node answering for at most 472 ms: 480.0 ms',
    ])
  })

  test('a fault that is over excuses nothing', () => {
    const holders = history(['r1', 5_000], ['', 5_200], ['r1', 10_000])
    expect(told(holders, [done('link flap', 1_000, 2_000)])).toEqual([
      'none: no node answering for at most 25 ms: 200.0 ms',
    ])
  })

  test('the account says the longest of each kind', () => {
    const injected = [done('link flap', 1_000, 2_000)]
    const assessment = judged(history(['r1', 1_000], ['', 1_300], ['r2', 10_000]), injected)
    const most = { two: 0, none: 300, client: 0 }
    const account = { injected: 1, missed: 0, violations: 0, longest: most }
    expect(accountOf(assessment, injected, 'link flap')).toEqual(account)
    expect(accountOf(assessment, injected).longest.none, 'no fault near').toBe(0)
    expect(longest(assessment.incidents)).toEqual(most)
  })
})

describe('the record', () => {
  test('an answer that is late by a millisecond or two does not cut a time in two', () => {
    const holders = history(['r1', 100], ['r1 r2', 110], ['r1', 112], ['r1 r2', 130], ['r1', 140], ['r1 r3', 150])
    expect(spans(holders, (count) => count > 1)).toEqual([
      { from: 100, to: 130, holders: ['r1', 'r2'] },
      { from: 140, to: 150, holders: ['r1', 'r3'] },
    ])
  })
})

test('the documented bounds are the ones that are judged by', () => {
  expectPart('chaos.md', 'bounds of the chaos suite', chaosBounds(100))
})

test.each(KINDS)('the bound of %s says which promise it is', (kind) => {
  const { source } = chaosRules(100).boundOf(done(kind, 0, 100, VARIANTS[kind]?.[0]), [])
  expect(source).toMatch(/RFC 9568|docs\/|forced|exchange|advertisements|lost/)
})
