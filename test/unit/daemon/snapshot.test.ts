/** The snapshot of the daemon in every state: JSON with a version, and deadlines as remaining time. */
import { expect, test } from 'vitest'
import { formatStatus } from '../../../src/cli/status/status.ts'
import { assembled } from '../../../src/daemon/telemetry/report.ts'
import type { ManagedSnapshot, Snapshot } from '../../../src/daemon/telemetry/snapshot.ts'
import { CheckLatencies } from '../../../src/http/metrics/check-latencies.ts'
import { portSamples, samplesOf } from '../../../src/http/metrics/samples.ts'
import { METRICS } from '../../../src/metrics/names.ts'
import { exposition } from '../../../src/metrics/registry.ts'
import { piecesOf, wholeReport } from '../../support/engine-reports.ts'
import { FakeWorld, failure, link, PEER, present, ROUTER, SELF, VIP, VIP2 } from './fake-world.ts'

const DOWN = 3_500

/** A daemon in which every counter has counted something. */
function busyWorld(): FakeWorld {
  const syncGroups = [{ name: 'alone', members: ['api'], track: [{ healthcheck: 'lb', weight: -20 }] }]
  const notify = { change: ['/bin/told'] }
  const tracking = { ...ROUTER, notify, margin: 10, track: [{ interface: 'eth1', weight: -20 }] }
  const world = new FakeWorld([tracking], { syncGroups, healthchecks: [{ name: 'lb', tcp: '[::1]:9445' }] }).start()
  world.health('lb', 'up')
  world.hear(120)
  world.hear(90, { addresses: [VIP2] })
  world.queue(Uint8Array.of(1, 2, 3))
  world.socket.lost = 2
  world.settle()
  // The loss adds one Active_Down_Interval.
  world.advance(2 * DOWN + 1)
  world.foreign('remove', present(2, `${VIP}/32`))
  world.sendFailure = failure('ENOBUFS')
  world.advance(1_000)
  world.sendFailure = undefined
  for (const notification of world.notices.posted) world.notices.end(notification)
  return world
}

function snapshots(): Record<string, Snapshot> {
  const initialize = new FakeWorld()
  initialize.links.set(2, link(2, 'eth0', { up: false }))
  const backup = new FakeWorld().start()
  backup.hear(200)
  backup.advance(250)
  const leaving = busyWorld()
  void leaving.daemon.stop()
  return {
    Initialize: initialize.start().daemon.snapshot(),
    Backup: backup.daemon.snapshot(),
    Active: busyWorld().daemon.snapshot(),
    Leaving: leaving.daemon.snapshot(),
  }
}

test('a snapshot is JSON with a version in every state', () => {
  for (const [state, snapshot] of Object.entries(snapshots())) {
    expect(JSON.parse(JSON.stringify(snapshot)), state).toEqual(snapshot)
    expect([snapshot.version, snapshot.routers[0]?.state]).toEqual([1, state])
  }
})

test('a snapshot names the holder and the remaining wait', () => {
  const { Initialize, Backup, Active, Leaving } = snapshots()
  expect(Initialize?.routers[0]).toMatchObject({ faults: ['linkDown'], deadlines: {}, holder: { self: false } })
  expect(Backup?.routers[0]).toMatchObject({
    holder: { self: false, address: PEER, priority: 200, heardMsAgo: 250 },
    deadlines: { activeDownInMs: DOWN - 250 },
    addresses: [{ address: VIP, present: false }],
  })
  expect(Active?.routers[0]).toMatchObject({
    holder: { self: true, address: SELF, priority: 128 },
    addresses: [{ address: VIP, present: true }],
  })
  expect(Object.keys(Leaving?.routers[0]?.deadlines ?? {})).toEqual(['untilInMs'])
})

test('a deadline that has passed is negative', () => {
  const world = new FakeWorld().start()
  world.now += DOWN + 20
  expect(world.router().deadlines).toEqual({ activeDownInMs: -20 })
})

test('a snapshot counts each event once, by its reason', () => {
  const { counters } = busyWorld().router()
  expect(counters).toMatchObject({
    received: 2,
    suppressed: { margin: 1 },
    sendFailures: { ENOBUFS: 1 },
    refused: { 'lower-priority': 1 },
    foreignChanges: { removed: 1 },
    transitions: [
      { from: 'Initialize', to: 'Backup', reason: 'startup', count: 1 },
      { from: 'Backup', to: 'Active', reason: 'lowerPriorityActive', count: 1 },
    ],
  })
})

const WEBHOOK = {
  ...{ to: 'http://x/hook', failing: true, waiting: 1, delivered: 2, failedAttempts: 4 },
  ...{ refused: 0, expired: 3, overflow: 0 },
}

const JOURNAL = { file: '/run/holdfast/events.jsonl', problem: 'the disk is full', lost: 2 }

test('status shows a snapshot as lines', () => {
  const { Initialize, Backup, Active } = snapshots()
  if (Initialize === undefined || Backup === undefined || Active === undefined) throw new Error('no snapshot')
  expect(formatStatus(Initialize)).toContain('\n  FAULT: linkDown (link down on eth0)\n')
  expect(formatStatus(Backup)).toContain(`holder: ${PEER}, priority 200, heard 250 ms ago`)
  expect(formatStatus(Backup)).toContain('\n  takes over in 3.3 s if the Active stays silent\n')
  expect(formatStatus(Active)).toContain(`holder: this node (${SELF}, priority 128)`)
  expect(formatStatus(Active)).toContain(`${VIP} (here)`)
  expect(formatStatus({ ...Active, guardian: 'none' })).toContain('NO GUARDIAN')
  expect(formatStatus(Active)).not.toContain('webhook')
  const told = 'webhook http://x/hook: DELIVERY FAILS, 2 events delivered, 1 waiting, LOST 3 (expired)'
  expect(formatStatus({ ...Active, webhook: WEBHOOK })).toContain(told)
  const journal = (problem: string | null, lost: number) =>
    formatStatus({ ...Active, journal: { ...JOURNAL, problem, lost } })
  expect(journal('the disk is full', 2)).toContain(
    'event journal /run/holdfast/events.jsonl: CANNOT BE WRITTEN: the disk is full, 2 events are missing\n',
  )
  expect(journal(null, 1)).toContain('event journal /run/holdfast/events.jsonl: is written again, 1 event is missing\n')
  expect(journal(null, 0)).not.toContain('journal')
})

const MANAGED = {
  ...{ handedOver: { at: '2026-11-22T00:00:00.000Z', by: 'agent', revision: '7' }, notKept: 'the disk is full' },
  ...{ handOvers: { ok: 1, unchanged: 2, invalid: 3, failed: 4 }, waits: null },
}

test('status names the program that handed the configuration over, and the risk of a restart', () => {
  const { Active } = snapshots()
  if (Active === undefined) throw new Error('no snapshot')
  const managed = (changes: Partial<ManagedSnapshot>) =>
    formatStatus({ ...Active, config: { ...Active.config, file: '/m.yaml', managed: { ...MANAGED, ...changes } } })
  expect(managed({})).toContain('  managed: handed over by agent, revision 7 at 2026-11-22 00:00:00, ')
  expect(managed({})).toContain('  NOT STORED, a restart would lose it: the disk is full\n')
  expect(managed({ notKept: null })).not.toContain('NOT KEPT')
  expect(managed({ handedOver: null })).toContain(
    '  managed: stored configuration, none has been handed over since the start\n',
  )
  expect(managed({ handedOver: null, waits: 'Nothing yet' })).toContain(
    '  managed: IDLE until a configuration is handed over: Nothing yet\n',
  )
  expect(formatStatus(Active)).not.toContain('managed')
})

test('every metric of the table has a sample, with exactly its labels', () => {
  const { daemon } = busyWorld()
  const snapshot = daemon.snapshot()
  const { Initialize } = snapshots()
  const samples = [
    ...samplesOf(
      { ...snapshot, config: { ...snapshot.config, managed: MANAGED }, webhook: WEBHOOK, journal: JOURNAL },
      '1.2.3',
    ),
    ...(Initialize === undefined ? [] : samplesOf(Initialize, '1.2.3')),
    ...portSamples({ connections: 1 }),
    ...wholeReport(daemon).distributions,
    ...new CheckLatencies().distributions(snapshot.healthchecks),
  ]
  const missing = Object.keys(METRICS).filter((name) => !samples.some((sample) => sample.name === name))
  expect(missing, 'metrics without a sample').toEqual([])
  const wrong = samples.filter(
    ({ name, labels }) => Object.keys(labels).sort().join() !== [...METRICS[name].labels].sort().join(),
  )
  expect(wrong, 'samples with other labels than the table').toEqual([])
})

test('the state of a router is one metric of value 1', () => {
  for (const [state, snapshot] of Object.entries(snapshots())) {
    const states = samplesOf(snapshot, '1').filter(({ name }) => name === 'holdfast_vrrp_state')
    expect(states.filter(({ value }) => value === 1).map(({ labels }) => labels.state)).toEqual([state])
    expect(states.reduce((sum, { value }) => sum + value, 0)).toBe(1)
  }
})

test('the metrics have the format of Prometheus', async () => {
  const { daemon } = busyWorld()
  const samples = [...samplesOf(daemon.snapshot(), '1.2.3'), ...wholeReport(daemon).distributions]
  const { body, contentType } = await exposition(METRICS, samples)
  expect(contentType).toMatch(/^text\/plain/)
  expect(body).toContain('# TYPE holdfast_vrrp_transitions_total counter')
  expect(body).toContain('holdfast_vrrp_state{router="api",vrid="51",interface="eth0",state="Active"} 1')
  expect(body).toMatch(/^holdfast_vrrp_receive_overflow_total\{interface="eth0"\} 2$/m)
  expect(body).toContain('# TYPE holdfast_vrrp_takeover_duration_seconds histogram')
  const buckets = [
    ...body.matchAll(/^holdfast_vrrp_takeover_duration_seconds_bucket\{phase="announced",le="(.+)"\} 1$/gm),
  ]
  expect(buckets.map(([, le]) => le)).toEqual([
    ...METRICS.holdfast_vrrp_takeover_duration_seconds.buckets.map(String),
    '+Inf',
  ])
  expect(body).toContain('holdfast_vrrp_takeover_duration_seconds_count{phase="announced"} 1')
  expect(body).toContain('holdfast_vrrp_takeover_duration_seconds_sum{phase="announced"} 0')
})

test('a report in parts is equal to a snapshot, and no part has many routers', () => {
  const routers = Array.from({ length: 40 }, (_, i) => {
    return { ...ROUTER, name: `r${i}`, vrid: i + 1, addresses: [`10.0.0.${100 + i}/24`] }
  })
  const world = new FakeWorld(routers).start()
  world.advance(2 * DOWN)
  const { parts, rest } = piecesOf(world.daemon)
  expect(parts.map(({ routers }) => routers.length)).toEqual([16, 16, 8])
  expect(rest.snapshot.routers).toEqual([])
  const { takenAt: _, ...snapshot } = assembled(parts, rest).snapshot
  const { takenAt: __, ...whole } = world.daemon.snapshot()
  expect(snapshot).toEqual(whole)
})
