/** Health checks in status, metrics and the log: their texts, and the details that are shown to no reader. */
import { expect, test } from 'vitest'
import { formatStatus } from '../../../src/cli/status/status.ts'
import { CheckLatencies } from '../../../src/http/metrics/check-latencies.ts'
import { samplesOf } from '../../../src/http/metrics/samples.ts'
import { publicStatus } from '../../../src/http/public-view.ts'
import { sleep } from '../../../src/lab/wait.ts'
import { FakeWorld, ROUTER } from '../../unit/daemon/fake-world.ts'
import { report } from '../../unit/healthcheck/fake-checks.ts'

const CHECKS = [
  { name: 'lb', http: 'https://probe:geheim@lb.example:9444/ready?token=geheim', headers: { Authorization: 'geheim' } },
  { name: 'mcs', exec: ['/usr/bin/mcs', '--token', 'geheim'], environment: { KEY: 'geheim' } },
  { name: 'both', all: ['lb', 'mcs'] },
  { name: 'alive', process: 'haproxy' },
]
const TRACK = [
  { healthcheck: 'lb', weight: 50 },
  { healthcheck: 'both', weight: -20 },
  { interface: 'eth1', weight: 3 },
  { healthcheck: 'alive' },
]

/** Tolerance in milliseconds between two clocks that count whole milliseconds. */
const ROUNDED = 5

function trackingWorld(): FakeWorld {
  const world = new FakeWorld([{ ...ROUTER, priority: 40, track: TRACK }], { healthchecks: CHECKS }).start()
  world.health('lb', 'up')
  world.health('alive', 'up')
  world.advance(10_000)
  world.health('mcs', 'down')
  world.advance(300)
  return world
}

const named = (world: FakeWorld, name: string) =>
  world.daemon.snapshot().healthchecks.find((check) => check.name === name)

test('status has the target, last result, time and weight of each check', () => {
  const before = Date.now()
  const world = trackingWorld()
  expect(named(world, 'mcs')).toMatchObject({
    kind: 'exec',
    target: '/usr/bin/mcs',
    result: 'down',
    countsAs: 'down',
    last: { ok: false, reason: 'connectionRefused', detail: 'connect ECONNREFUSED', latencyMs: 1.5 },
    heardMsAgo: 300,
    partOf: ['both'],
    routers: [],
  })
  expect(named(world, 'lb')).toMatchObject({
    target: 'https://lb.example:9444/ready',
    result: 'unknown',
    countsAs: 'up',
    routers: [{ router: 'api', adds: 50, required: false, fault: null }],
  })
  expect(named(world, 'both')).toMatchObject({
    kind: 'all',
    target: 'lb, mcs',
    result: 'down',
    last: null,
    routers: [{ router: 'api', adds: -20, required: false, fault: null }],
  })
  // The time lies between the start of this test and now.
  const since = Date.parse(named(world, 'mcs')?.since ?? '')
  expect(since).toBeGreaterThanOrEqual(before - 300 - ROUNDED)
  expect(since).toBeLessThanOrEqual(Date.now() - 300 + ROUNDED)
})

test('status shows an effective priority as a sum', () => {
  const world = trackingWorld()
  expect(formatStatus(world.daemon.snapshot())).toContain(
    '  priority 73 = 40 + 50 (lb up) - 20 (both down) + 3 (eth1 up), every 1000 ms\n',
  )
  world.daemon.yield('api', 60_000)
  expect(formatStatus(world.daemon.snapshot())).toContain('  priority 1, otherwise 73 = 40 + 50 (lb up) - 20')
  const high = new FakeWorld([{ ...ROUTER, track: [{ interface: 'eth1', weight: 200 }] }]).start()
  expect(formatStatus(high.daemon.snapshot())).toContain(
    '  priority 254 (328 = 128 + 200 (eth1 up), kept between 1 and 254),',
  )
  const plain = new FakeWorld().start()
  expect(formatStatus(plain.daemon.snapshot())).toContain('  priority 128, every')
})

test('status shows each check in lines', () => {
  const world = trackingWorld()
  const lines = formatStatus(world.daemon.snapshot())
  expect(lines).toMatch(/\nhealthcheck mcs: down since \d\d:\d\d:\d\d, under 1 s ago\n {2}exec \/usr\/bin\/mcs\n/)
  expect(lines, 'lines of status, which show no age: that would be the age of the last report').toContain(
    '\n  last result: connection refused (connect ECONNREFUSED) in 1.5 ms\n',
  )
  expect(lines).toMatch(/\nhealthcheck lb: unknown, counts as up since/)
  expect(lines).toContain('\n  NO RESULT for 10 s, still counted as up\n  raises api by 50\n')
  expect(lines).toContain('\n  all of lb, mcs\n  lowers api by 20\n')
  expect(lines).toContain('\n  part of both\n')
  expect(lines).toContain('\n  required by api\n')
  world.health('alive', 'down')
  expect(formatStatus(world.daemon.snapshot())).toContain('\n  KEEPS api IN FAULT\n')
  const waiting = new FakeWorld([{ ...ROUTER, track: TRACK }], { healthchecks: CHECKS }).start()
  expect(formatStatus(waiting.daemon.snapshot())).toContain(
    '\n  last result: none yet\n  0 runs\n  keeps api waiting for its first result',
  )
})

test('status shows no possible secret, and details only to authorized readers', () => {
  const snapshot = trackingWorld().daemon.snapshot()
  expect(JSON.stringify(snapshot)).not.toContain('geheim')
  const open = publicStatus(snapshot)
  expect(JSON.stringify(snapshot)).toContain('ECONNREFUSED')
  expect(JSON.stringify(open)).not.toContain('ECONNREFUSED')
  expect(formatStatus(open)).toContain('  last result: connection refused in 1.5 ms')
})

test('only the control socket shows the path of a URL, which may be a token', () => {
  const snapshot = trackingWorld().daemon.snapshot()
  const [check] = snapshot.healthchecks
  if (check === undefined) throw new Error('no check')
  const shown = (target: string) =>
    publicStatus({ ...snapshot, healthchecks: [{ ...check, kind: 'http', target }] }).healthchecks[0]?.target
  expect(shown('https://10.0.0.9:6443/health/TOKEN')).toBe('https://10.0.0.9:6443/…')
  expect(shown('http://localhost/TOKEN at /run/app.sock')).toBe('http://localhost/… at /run/app.sock')
  expect(shown('http://10.0.0.9/')).toBe('http://10.0.0.9')
})

test('the metrics have the result, time, weight, outcomes and durations of each check', () => {
  const before = Date.now()
  const snapshot = trackingWorld().daemon.snapshot()
  const samples = samplesOf(snapshot, '1.2.3')
  const of = (name: string) =>
    Object.fromEntries(
      samples.filter((each) => each.name === name).map(({ labels, value }) => [Object.values(labels).join(' '), value]),
    )
  expect(of('holdfast_healthcheck_up')).toEqual({ lb: 1, mcs: 0, both: 0, alive: 1 })
  expect(of('holdfast_healthcheck_unknown'), 'metric of checks without a result').toEqual({
    lb: 1,
    mcs: 0,
    both: 0,
    alive: 1,
  })
  const { mcs = 0 } = of('holdfast_healthcheck_since_timestamp_seconds')
  expect(1_000 * mcs).toBeGreaterThanOrEqual(before - 300 - ROUNDED)
  expect(1_000 * mcs).toBeLessThanOrEqual(Date.now() - 300 + ROUNDED)
  expect(of('holdfast_healthcheck_adds')).toEqual({ 'lb api': 50, 'both api': -20 })
  expect(of('holdfast_healthcheck_results_total')).toEqual({ 'lb ok': 1, 'mcs connectionRefused': 1, 'alive ok': 1 })
  const latencies = new CheckLatencies()
  latencies.observe('lb', 1.5)
  latencies.observe('lb', 20_000)
  latencies.observe('gone', 1)
  const distributions = latencies.distributions(snapshot.healthchecks)
  const counted = distributions.map(({ labels, cells }) => [labels.check, cells.at(1), cells.at(-2), cells.at(-1)])
  expect(counted, 'check, up to 2.5 ms, above 10 s, sum; not of the combination').toEqual([
    ['lb', 1, 1, 20.0015],
    ['mcs', 0, 0, 0],
    ['alive', 0, 0, 0],
  ])
})

test('a flapping check causes a bounded number of log lines, and the last line has its present result', () => {
  const world = new FakeWorld([ROUTER], { healthchecks: [{ name: 'lb', tcp: '127.0.0.1:1' }] }).start()
  const lines = () => world.records.map(({ message }) => message).filter((line) => line.startsWith('healthcheck lb: '))
  world.health('lb', 'up')
  expect(lines()).toEqual(['healthcheck lb: first result: up (ok)'])
  for (let i = 0; i < 250; i++) {
    world.health('lb', i % 2 === 0 ? 'down' : 'up')
    world.advance(20)
  }
  expect(lines().length).toBeLessThanOrEqual(13)
  world.health('lb', 'down')
  for (let i = 0; i < 30; i++) {
    world.advance(1_000)
    world.checks.tell({ kind: 'checkBeat', reports: [report('lb', 'down', world.now)] })
  }
  expect(lines().at(-1)).toMatch(/→ down|down again/)
  expect(lines().at(-1)).toContain('changes that were not logged')
})

test('a log line has the weight of a check for each router, the time, and the duration of its last run', () => {
  const world = trackingWorld()
  world.health('alive', 'down')
  const lines = world.records.filter(({ message }) => message.startsWith('healthcheck '))
  expect(lines.map(({ message }) => message)).toEqual([
    'healthcheck lb: first result: up (ok); raises api by 50',
    'healthcheck alive: first result: up (ok); api priority unchanged',
    'healthcheck lb: no result for 8 s, still counted as up; raises api by 50',
    'healthcheck mcs: no result',
    'healthcheck alive: no result for 8 s, still counted as up; api priority unchanged',
    'healthcheck both: no result; api priority unchanged',
    'healthcheck mcs: unknown → down: connection refused (connect ECONNREFUSED)',
    'healthcheck both: unknown → down; lowers api by 20',
    'healthcheck alive: unknown → down: connection refused (connect ECONNREFUSED); puts api in fault',
  ])
  expect(lines.at(-1)?.fields).toMatchObject({
    check: 'alive',
    latencyMs: 1.5,
    since: expect.stringMatching(/^20\S+Z$/),
    effects: [{ router: 'api', fault: true }],
  })
})

test('the time of a result is the same in every snapshot, even if two clocks differ by a millisecond', async () => {
  const world = trackingWorld()
  const since = named(world, 'mcs')?.since
  for (let i = 0; i < 5; i++) {
    await sleep(7)
    expect(named(world, 'mcs')?.since).toBe(since)
  }
  world.health('mcs', 'up')
  expect(named(world, 'mcs')?.since, 'another result').not.toBe(since)
})
