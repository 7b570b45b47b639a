/** `holdfast status` begins with a sentence for each VIP, from the reports of all nodes, and names each cause once and in words. */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { formatStatus, statusCommand } from '../../../src/cli/status/status.ts'
import type { RouterSnapshot, Snapshot } from '../../../src/daemon/telemetry/snapshot.ts'
import { readPeerStatus } from '../../../src/http/peers/peer-status.ts'
import type { PeersAnswer } from '../../../src/http/peers/peers.ts'
import { FakeWorld, link, ROUTER, type RouterConfig, VIP } from '../../unit/daemon/fake-world.ts'

/** Time of the snapshots in this file, later than every event in this file. */
const TAKEN_AT = Date.now() + 60_000
const DOWN = 4_000
const WEIGHED: RouterConfig = { ...ROUTER, priority: 150, track: [{ healthcheck: 'web', weight: -60 }] }

function worldWith(router: RouterConfig, check?: 'up' | 'down'): FakeWorld {
  const healthchecks = check === undefined ? [] : [{ name: 'web', http: 'http://127.0.0.1:8080/' }]
  const world = new FakeWorld([router], { healthchecks }).start()
  if (check !== undefined) world.health('web', check)
  return world
}

function active(router: RouterConfig, check?: 'up' | 'down'): FakeWorld {
  const world = worldWith(router, check)
  world.advance(DOWN + 1)
  return world
}

/** Returns the snapshot of a node with this name; all snapshots in this file have the same time. */
const called = (snapshot: Snapshot, hostname: string): Snapshot => ({
  ...{ ...snapshot, hostname, pid: hostname.length },
  takenAt: new Date(TAKEN_AT).toISOString(),
})

const peersOf = (...snapshots: readonly Snapshot[]): PeersAnswer => ({
  ...{ version: 1, takenAt: new Date().toISOString() },
  peers: snapshots.map((snapshot) => ({
    ...{ url: `http://${snapshot.hostname}:9655`, problem: null, status: readPeerStatus(snapshot) ?? null },
    ...{ events: [], clockOffsetMs: 0, roundTripMs: 1 },
  })),
})

const firstLine = (text: string) => text.split('\n')[0]

test('the first line of status has the holder, the time and the cause of the takeover, and the next holder', () => {
  const own = called(active(ROUTER).daemon.snapshot(), 'node1')
  const other = called(worldWith({ ...ROUTER, priority: 90 }).daemon.snapshot(), 'node22')
  const told = formatStatus(own, { events: [], peers: peersOf(other) })
  expect(firstLine(told)).toMatch(
    new RegExp(
      `^api: node1 holds ${VIP} since \\d\\d:\\d\\d:\\d\\d \\(\\d+ s\\), because no other router was heard\\. Next in line: node22 \\(priority 90\\)\\.$`,
    ),
  )
})

test('status shows a failed check of the holder in capitals, on the holder and on a Backup, and names other nodes where it failed', () => {
  const holder = called(active(WEIGHED, 'down').daemon.snapshot(), 'node1')
  const sick = called(worldWith({ ...WEIGHED, priority: 100 }, 'down').daemon.snapshot(), 'node22')
  const well = called(worldWith({ ...WEIGHED, priority: 100 }, 'up').daemon.snapshot(), 'node22')
  const everywhere = firstLine(formatStatus(holder, { events: [], peers: peersOf(sick) }))
  expect(everywhere).toMatch(/^api: ACTIVE, BUT CHECK web IS DOWN: node1 holds .* and on every other node as well\./)
  for (const own of [holder, well]) {
    const told = firstLine(formatStatus(own, { events: [], peers: peersOf(own === holder ? well : holder) }))
    expect(told, own.hostname).toMatch(/^api: ACTIVE, BUT CHECK web IS DOWN: node1 holds .*, but not on node22\./)
  }
  const healthy = called(active(WEIGHED, 'up').daemon.snapshot(), 'node1')
  expect(formatStatus(healthy, { events: [], peers: peersOf(sick) })).not.toContain('ACTIVE, BUT')
})

test('status begins with two nodes that are both Active, or a node that does not answer', () => {
  const [one, other] = ['node1', 'node22'].map((name) => called(active(ROUTER).daemon.snapshot(), name))
  if (one === undefined || other === undefined) throw new Error('no snapshots')
  expect(firstLine(formatStatus(one, { events: [], peers: peersOf(other) }))).toMatch(
    /^api: 2 NODES ARE ACTIVE: node1 and node22 both hold /,
  )
  const silent: PeersAnswer = {
    ...peersOf(),
    peers: [
      {
        url: 'http://10.0.0.3:9655',
        problem: 'connection refused (the API does not run there)',
        status: null,
        events: [],
        clockOffsetMs: null,
        roundTripMs: null,
      },
    ],
  }
  expect(formatStatus(one, { events: [], peers: silent })).toContain(
    '\n10.0.0.3:9655 DOES NOT ANSWER: connection refused (the API does not run there)\n',
  )
})

test('status shows a priority with the state of each check and the effect of a failure', () => {
  expect(formatStatus(active(WEIGHED, 'up').daemon.snapshot())).toContain(
    '\n  priority 150 (web up; -60 if it fails), every',
  )
  const failed = formatStatus(active(WEIGHED, 'down').daemon.snapshot())
  expect(failed).toContain('\n  priority 90 = 150 - 60 (web down), every')
  expect(failed).toContain('\n  lowers api by 60\n')
})

test('status does not show a fault that follows from another shown fault', () => {
  const world = new FakeWorld([ROUTER])
  world.links.set(2, link(2, 'eth0', { up: false }))
  const snapshot = world.start().daemon.snapshot()
  const faulty = (faults: readonly string[]) => {
    const routers = snapshot.routers.map((router): RouterSnapshot => ({ ...router, group: 'web', faults }))
    return formatStatus({ ...snapshot, routers })
  }
  expect(faulty(['linkDown', 'sourceAddressMissing', 'syncGroup:web6'])).toContain(
    '\n  FAULT: linkDown (link down on eth0)\n',
  )
  expect(faulty(['syncGroup:web4'])).toContain('\n  FAULT: follows web4 (sync group web)\n')
})

test('status ROUTER shows that router or group alone, and an unknown name is an error with the nearest one', async () => {
  const routers = [ROUTER, { ...ROUTER, name: 'ingress', vrid: 52, addresses: ['192.0.2.101'] }]
  const world = new FakeWorld(routers, { syncGroups: [{ name: 'both', members: ['api', 'ingress'] }] }).start()
  const folder = mkdtempSync(join(tmpdir(), 'hf-sentence-'))
  const socket = join(folder, 'holdfast.sock')
  const body = JSON.stringify(world.daemon.snapshot())
  const server = createServer((asked, answer) => {
    answer.statusCode = asked.url === '/v1/status' ? 200 : 404
    answer.end(body)
  })
  await new Promise<void>((resolve) => server.listen(socket, resolve))
  onTestFinished(() => {
    server.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const one = await statusCommand(socket, { router: 'ingress', json: false })
  expect([one.exitCode, one.stdout]).toEqual([0, expect.stringContaining('\ningress: Backup since ')])
  expect(one.stdout).not.toContain('api: ')
  expect((await statusCommand(socket, { router: 'both', json: false })).stdout).toContain('\napi: Backup since ')
  const { stdout } = await statusCommand(socket, { router: 'api', json: true })
  expect(JSON.parse(stdout).routers).toMatchObject([{ name: 'api' }])
  expect(await statusCommand(socket, { router: 'ingres', json: false })).toEqual({
    exitCode: 64,
    stdout: '',
    stderr: 'holdfast: no virtual router or sync group is called "ingres": did you mean "ingress"?\n',
  })
})
