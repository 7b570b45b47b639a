/** The benchmark's scenarios on paper: what the protocol alone makes of each, how long it is looked at, who cannot. */
import { describe, expect, test } from 'vitest'
import { type Cell, kindsOf, LINE_UPS, type LineUp } from '../../../bench/failover/accident.ts'
import { SCENARIOS, theory, titleOf, unsupported, windowMs } from '../../../bench/failover/scenario.ts'
import { expectedTakeovers, lateHolders, takeoversIn } from '../../../bench/failover/takeovers.ts'

const cell = (scenario: string, intervalMs = 100, lineUp: LineUp = 'holdfast'): Cell => ({
  ...{ scenario, intervalMs, lineUp, family: 4 },
})

describe('theory, by the timers of RFC 9568 §6.1', () => {
  // Priority 150 follows: Skew_Time 106/256 of the interval, Active_Down_Interval three intervals more.
  test.each([
    ['cut', 100, 'moved', 241.4, 341.4],
    ['cut', 10, 'moved', 24.1, 34.1],
    ['carrier', 1000, 'moved', 2414.1, 3414.1],
    ['group', 100, 'moved', 241.4, 341.4],
    ['frozen', 100, 'moved', 241.4, 341.4],
    ['sigterm', 100, 'moved', 41.4, 41.4],
    ['yield', 1000, 'moved', 414.1, 414.1],
    ['engine', 100, 'moved', 41.4, 41.4],
    // Priority 100: 156/256.
    ['equal', 100, 'moved', 260.9, 360.9],
    ['heal', 100, 'outage', 0, 0],
    ['partition-forward-fresh', 100, 'outage', 0, 0],
    ['reload-changed', 100, 'outage', 0, 0],
    ['failback', 100, 'outage', 0, 0],
    ['load4-realtime', 10, 'takeovers', 0, 0],
    // 20 s, two Backups, three of 5 % in a row.
    ['loss5', 10, 'takeovers', 0.5, 0.5],
    ['loss20', 100, 'takeovers', 2.6, 2.6],
    // A poll a second, and its timeout; priority 90: 166/256.
    ['check-killed', 1000, 'moved', 2648.4, 4648.4],
    ['check-hung', 1000, 'moved', 3648.4, 5648.4],
    // The outage is two polls longer; priority 68.
    ['openshift-500', 1000, 'moved', 6734.4, 9734.4],
  ])('%s at %i ms: %s', (scenario, intervalMs, of, from, to) => {
    const expected = theory(cell(scenario, intervalMs))
    expect(expected.of).toBe(of)
    expect(expected.from).toBeCloseTo(from, 1)
    expect(expected.to).toBeCloseTo(to, 1)
  })
})

test('each is looked at for longer than it takes', () => {
  for (const scenario of SCENARIOS)
    for (const intervalMs of [10, 100, 1_000]) {
      const one = cell(scenario, intervalMs)
      const { of, to } = theory(one)
      expect(windowMs(one), scenario).toBeGreaterThan(of === 'takeovers' ? 10_000 : to + 1_000)
    }
})

test('each scenario has a name and a title of its own', () => {
  expect(new Set(SCENARIOS).size).toBe(SCENARIOS.length)
  expect(new Set(SCENARIOS.map(titleOf)).size).toBe(SCENARIOS.length)
})

test('what a daemon cannot do is said, and holdfast can do everything', () => {
  const cannot = (lineUp: LineUp) => SCENARIOS.filter((name) => unsupported(cell(name, 1_000, lineUp)) !== undefined)
  expect(cannot('holdfast')).toEqual([])
  expect(cannot('keepalived')).toEqual(['yield'])
  expect(cannot('frr').filter((name) => !/^(check|openshift|all255)-|-realtime$/.test(name))).toEqual([
    'yield',
    'equal',
  ])
  expect(kindsOf(cell('cut', 100, 'keepalived+holdfast'))).toEqual(['keepalived', 'holdfast'])
  expect(Object.keys(LINE_UPS)).toHaveLength(5)
})

test('a run of advertisements is one takeover; the holder and a farewell are none', () => {
  const said = (source: string, ...times: number[]) =>
    times.map((atMs) => ({ atMs, source, priority: { r1: 200, r2: 150 }[source] ?? 100 }))
  const wire = [
    ...said('r1', 0, 100, 200, 300, 400, 500, 600, 700, 800),
    // Active once, with a word more when it has lost; again after three lost advertisements.
    ...said('r2', 310, 320, 690),
    ...said('r3', 315, 415, 515, 615),
    { atMs: 900, source: 'r4', priority: 0 },
  ].sort((a, b) => a.atMs - b.atMs)
  expect(takeoversIn(wire, 'r1', 100)).toHaveLength(3)
  expect(takeoversIn(wire, 'r2', 100)).toHaveLength(2)
})

test('an Active that stalls has not taken over again, unless a better one spoke meanwhile', () => {
  const at = (source: string, priority: number) => (atMs: number) => ({ atMs, source, priority })
  const alone = [0, 100, 700, 800].map(at('r2', 150))
  expect(takeoversIn(alone, 'r1', 100)).toHaveLength(1)
  expect(takeoversIn([...alone.slice(0, 2), at('r3', 100)(300), ...alone.slice(2)], 'r1', 100)).toHaveLength(2)
  expect(takeoversIn([...alone.slice(0, 2), at('r1', 200)(300), ...alone.slice(2)], 'r1', 100)).toHaveLength(2)
})

test('a holder whose advertisements were not on the wire was late, one whose advertisements were lost was not', () => {
  const said = (source: string, ...times: number[]) =>
    times.map((atMs) => ({ atMs, source, priority: source === 'r1' ? 200 : 150 }))
  const late = (...holder: number[]) => {
    const wire = [...said('r1', ...holder), ...said('r2', 1_341.4)].sort((a, b) => a.atMs - b.atMs)
    return lateHolders(takeoversIn(wire, 'r1', 100), wire, 'r1', 100)
  }
  expect(late(1_000, 1_100, 1_200, 1_300, 1_400), '1000 was heard, three were lost').toBe(0)
  expect(late(1_000, 1_100, 1_200, 1_342), 'two were lost, the third came too late').toBe(1)
  expect(late(1_000, 1_400), 'none was lost').toBe(1)
})

test('loss: three in a row, for each Backup by itself', () => {
  expect(expectedTakeovers(0, 2, 60_000, 100)).toBe(0)
  expect(expectedTakeovers(0.2, 1, 60_000, 100)).toBeCloseTo(3.84)
  expect(expectedTakeovers(0.05, 1, 60_000, 100)).toBeCloseTo(0.071, 3)
})
