/**
 * Health checks of any keys and values. The parser never throws, an accepted check is plain data that can cross a
 * thread, and combinations stand behind their members. The table of `holdfast check` equals the simplest model of
 * weights.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { priorityTable } from '../../src/config/advice/priority-table.ts'
import { type Check, checksOf, nameOf } from '../../src/config/checks.ts'
import { parseConfig } from '../../src/config/text/yaml.ts'
import { forAll } from '../support/for-all.ts'

const NAMES = ['a', 'b', 'c', 'd', 'e']
const name = fc.constantFrom(...NAMES)
const ROUTER = { name: 'r', vrid: 1, interface: 'eth0', addresses: ['10.0.0.200'], stagger: false }

const KINDS = fc.oneof(
  fc.record({ http: fc.constantFrom('http://localhost/', 'https://h:6443/x?y', 'ftp://h/', 'http://%zz@h/', '') }),
  fc.record({ tcp: fc.constantFrom('127.0.0.1:80', '[::1]:80', 'h:0', 'h') }),
  fc.record({ exec: fc.constantFrom(['/bin/true'], ['true'], []) }),
  fc.record({ file: fc.constantFrom('/x', 'x') }),
  fc.record({ process: fc.constantFrom('haproxy', 'a/b') }),
  fc.record({ all: fc.array(name, { maxLength: 3 }) }),
  fc.record({ any: fc.array(name, { maxLength: 3 }) }),
  fc.constant({}),
)
const OPTIONS = fc.record(
  {
    interval: fc.constantFrom('1s', '10ms', '1h', '5', 7),
    fastInterval: fc.constantFrom('20ms', '2s'),
    timeout: fc.constantFrom('1s', '3s', '0ms'),
    rise: fc.integer({ min: -1, max: 3 }),
    initial: fc.constantFrom('up', 'down', 'firstResult', 'no'),
    jitter: fc.constantFrom('10%', '200%', 0.1),
    unknownAfter: fc.constantFrom('1s', '10s'),
    status: fc.constantFrom(200, '200-299', [200, '300-399'], '9', []),
    headers: fc.dictionary(fc.string(), fc.string(), { maxKeys: 2 }),
    body: fc.oneof(fc.string(), fc.record({ matches: fc.string() })),
    redirects: fc.constantFrom(true, false, 3, 51),
    send: fc.string(),
    user: fc.oneof(fc.string(), fc.integer()),
    environment: fc.dictionary(fc.string(), fc.string(), { maxKeys: 2 }),
    content: fc.constantFrom('present', 'weight', ''),
    count: fc.integer({ min: 0, max: 2 }),
    events: fc.boolean(),
  },
  { requiredKeys: [] },
)
/** Few options of a check together, so that some of the checks are accepted. */
const few = OPTIONS.chain((options) =>
  fc.subarray(Object.entries(options), { maxLength: 2 }).map((entries) => Object.fromEntries(entries)),
)
const entry = fc
  .tuple(KINDS, fc.oneof({ weight: 2, arbitrary: fc.constant({}) }, few))
  .map(([kind, options]) => ({ ...kind, ...options }))

test('any entries give an answer, and accepted checks are plain data in order', () => {
  let accepted = 0
  forAll(500, [fc.array(entry, { maxLength: 4 }), fc.subarray(NAMES)], (entries, tracked) => {
    const healthchecks = entries.map((each, i) => ({ name: NAMES[i], ...each }))
    const track = tracked.map((healthcheck) => ({ healthcheck, weight: 1 }))
    const parsed = parseConfig(stringify({ healthchecks, virtualRouters: [{ ...ROUTER, track }] }))
    if ('problems' in parsed) {
      expect(parsed.problems.length).toBeGreaterThan(0)
      return
    }
    accepted++
    expect(structuredClone(parsed.config)).toEqual(parsed.config)
    const checks = checksOf(parsed.config)
    expect(checks.map(nameOf).sort()).toEqual(parsed.config.healthchecks.map(nameOf).sort())
    for (const [i, check] of checks.entries()) {
      if (check.kind === 'combination')
        expect(checks.slice(0, i).map(nameOf)).toEqual(expect.arrayContaining([...check.members]))
      else {
        const { cadence, timeout, rule } = check.spec
        expect(cadence.fastInterval).toBeLessThanOrEqual(cadence.interval)
        expect(rule.unknownAfter).toBeGreaterThanOrEqual(cadence.interval + timeout)
      }
    }
  })
  // About 30 of 500: a rare run accepts fewer than 20.
  expect(accepted).toBeGreaterThan(5)
})

describe('the table of effective priorities', () => {
  const probe = (each: string): Check => {
    const parsed = parseConfig(stringify({ healthchecks: [{ name: each, file: '/x' }], virtualRouters: [ROUTER] }))
    const [check] = 'config' in parsed ? checksOf(parsed.config) : []
    if (check === undefined) throw new Error('no check')
    return check
  }
  const PROBES = ['p', 'q', 's'].map(probe)
  const members = fc.uniqueArray(fc.constantFrom('p', 'q', 's'), { minLength: 1 })
  const mode = fc.constantFrom('all', 'any')
  const tracker = fc.record({
    healthcheck: fc.constantFrom('p', 'q', 's', 'one', 'two'),
    weight: fc.integer({ min: -253, max: 253 }),
    reverse: fc.boolean(),
  })

  test('the table has the priority of every possible result', () => {
    forAll(
      100,
      [
        fc.integer({ min: 1, max: 254 }),
        fc.uniqueArray(tracker, { selector: ({ healthcheck }) => healthcheck, minLength: 1 }),
        fc.tuple(mode, members, mode, members),
        fc.record({ p: fc.boolean(), q: fc.boolean(), s: fc.boolean() }),
      ],
      (base, track, [first, of, second, others], results) => {
        const one = { kind: 'combination', name: 'one', mode: first, members: of } as const
        const two = { kind: 'combination', name: 'two', mode: second, members: ['one', ...others] } as const
        const { rows } = priorityTable(base, track, [...PROBES, one, two])
        // The model of combinations: sets instead of a walk, and the table of VR-TRK-01 row by row.
        const up: Record<string, boolean> = { ...results }
        up.one = first === 'all' ? of.every((each) => up[each]) : of.some((each) => up[each])
        up.two =
          second === 'all' ? ['one', ...others].every((each) => up[each]) : ['one', ...others].some((each) => up[each])
        let sum = base
        let fault = false
        for (const { healthcheck, weight: w, reverse } of track) {
          const isUp = up[healthcheck] === true
          if (w === 0) fault ||= reverse ? isUp : !isUp
          else if (!reverse) sum += w > 0 ? (isUp ? w : 0) : isUp ? 0 : -Math.abs(w)
          else sum += w > 0 ? (isUp ? -w : 0) : isUp ? 0 : Math.abs(w)
        }
        const wanted = {
          up: track.map(({ healthcheck }) => up[healthcheck]),
          priority: Math.min(254, Math.max(1, sum)),
          fault,
        }
        expect(rows).toContainEqual(wanted)
        expect(new Set(rows.map((row) => row.up.join())).size).toBe(rows.length)
        expect(rows.length).toBeLessThanOrEqual(8)
      },
    )
  })
})
