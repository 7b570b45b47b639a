/**
 * For any reports, in any order and with any silence between them, the priority and the faults of a router equal a
 * model. The model stores only the last report of each check. The model has the table of VR-TRK-01 as text, and
 * evaluates a combination by trying every possible value of its unknown members.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Check } from '../../src/config/checks.ts'
import type { Track } from '../../src/config/schema/track.ts'
import { CheckBoard } from '../../src/daemon/health/check-board.ts'
import { trackingOf } from '../../src/daemon/health/tracking.ts'
import type { CheckReport } from '../../src/healthcheck/check-report.ts'
import type { CheckResult } from '../../src/healthcheck/health.ts'
import { millis } from '../../src/wire/units.ts'
import { checkSpec, tcpSpec } from '../support/check-spec.ts'
import { forAll } from '../support/for-all.ts'

const UNKNOWN_AFTER = 5_000
const PROBES = ['a', 'b', 'c', 'd'] as const
const combination = fc.record({
  mode: fc.constantFrom('all', 'any'),
  members: fc.uniqueArray(fc.constantFrom(...PROBES), { minLength: 1, maxLength: 3 }),
})
const weight = fc.oneof(fc.constant(0), fc.integer({ min: -253, max: 253 }))
const said = fc.record({
  probe: fc.constantFrom(...PROBES),
  result: fc.constantFrom<CheckResult>('undecided', 'up', 'down', 'unknown'),
  after: fc.oneof({ weight: 5, arbitrary: fc.integer({ min: 0, max: 2_000 }) }, fc.integer({ min: 4_000, max: 6_000 })),
})

/** Returns the table of VR-TRK-01, a line for each kind of weight: the contribution while up, and while down. */
function tableOf(w: number, reverse: boolean): readonly [up: number | 'fault', down: number | 'fault'] {
  if (w === 0) return reverse ? ['fault', 0] : [0, 'fault']
  if (w > 0) return reverse ? [-w, 0] : [w, 0]
  return reverse ? [0, Math.abs(w)] : [0, -Math.abs(w)]
}

/**
 * Returns the result of a combination. For an unknown member both values are tried; if they disagree, the result is
 * unknown.
 */
function decided(mode: 'all' | 'any', members: readonly ('up' | 'down' | 'nothing')[]): 'up' | 'down' | 'nothing' {
  const outcomes = new Set<boolean>()
  for (let guess = 0; guess < 1 << members.length; guess++) {
    const values = members.map((member, i) => (member === 'nothing' ? ((guess >> i) & 1) === 1 : member === 'up'))
    outcomes.add(mode === 'all' ? values.every(Boolean) : values.some(Boolean))
  }
  return outcomes.size > 1 ? 'nothing' : outcomes.has(true) ? 'up' : 'down'
}

const reportOf = (check: string, result: CheckResult, countsAs: CheckReport['countsAs'], at: number): CheckReport => ({
  check,
  result,
  countsAs,
  since: millis(at),
  last: undefined,
  weight: undefined,
  watched: false,
  // Only its first result makes a check known.
  runs: result === 'undecided' ? 0 : 1,
  results: {},
  skipped: 0,
})

test('priority and faults equal the model for any reports', () => {
  forAll(
    400,
    [
      fc.integer({ min: 1, max: 254 }),
      fc.tuple(combination, combination),
      fc.array(fc.record({ name: fc.constantFrom(...PROBES, 'x', 'y'), weight, reverse: fc.boolean() }), {
        maxLength: 6,
      }),
      fc.constantFrom('hold', 'fail'),
      fc.array(said, { maxLength: 40 }),
    ],
    (base, [x, y], tracked, onUnknown, news) => {
      const checks: Check[] = PROBES.map((name) => ({
        kind: 'probe',
        spec: checkSpec(tcpSpec(1), { name, onUnknown, unknownAfter: millis(UNKNOWN_AFTER) }),
      }))
      checks.push({ kind: 'combination', name: 'x', ...x }, { kind: 'combination', name: 'y', ...y })
      const track: readonly Track[] = tracked.map(({ name, ...rest }) => ({ healthcheck: name, ...rest }))
      const board = new CheckBoard()
      let now = millis(0)
      board.set(checks, now)
      const words = new Map<string, { counts: 'up' | 'down' | 'nothing'; heardAt: number }>()

      const compare = () => {
        const probe = (name: string) => {
          const { counts = 'nothing' as const, heardAt = 0 } = words.get(name) ?? {}
          const silent = now - heardAt >= UNKNOWN_AFTER
          return silent && onUnknown === 'fail' ? 'down' : counts
        }
        const expected = (name: string) => {
          const { mode, members } = name === 'x' ? x : y
          return name === 'x' || name === 'y' ? decided(mode, members.map(probe)) : probe(name)
        }
        let sum = base
        const faults = new Set<string>()
        for (const { name, weight: w, reverse } of tracked) {
          const is = expected(name)
          if (is === 'nothing') continue
          const adds = tableOf(w, reverse)[is === 'up' ? 0 : 1]
          if (adds === 'fault') faults.add(`healthcheckDown:${name}`)
          else sum += adds
        }
        const states = { isUp: () => true, check: (name: string) => board.of(name) }
        const tracking = trackingOf(base, track, states, false)
        expect(tracking.sum).toBe(sum)
        expect(tracking.priority).toBe(Math.min(254, Math.max(1, sum)))
        expect(new Set(tracking.faults.filter(({ present }) => present).map(({ fault }) => fault))).toEqual(faults)
        expect(
          tracking.parts.reduce((total, { adds }) => total + adds, base),
          'the sum that is told',
        ).toBe(sum)
      }

      for (const { probe: name, result, after } of news) {
        // The alarm of the engine is on time in this test.
        const until = now + after
        for (let at = board.doubtAt; at !== undefined && at <= until; at = board.doubtAt) {
          now = millis(Math.max(at, now))
          board.doubt(now)
        }
        now = millis(until)
        compare()
        const unknown = onUnknown === 'fail' && result === 'unknown' ? 'down' : 'nothing'
        const counts = result === 'up' || result === 'down' ? result : unknown
        board.hear([reportOf(name, result, counts, now)], now)
        // A restarted check thread withdraws no result, and has reported none yet.
        if (result !== 'undecided' || !words.has(name)) words.set(name, { counts, heardAt: now })
        compare()
      }
    },
  )
})
