/** `holdfast events` and its two sources: a real control socket, and the journal file of a stopped daemon. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { allPages } from '../../../src/cli/explain/event-source.ts'
import { eventsCommand, followEvents, momentOf } from '../../../src/cli/explain/events.ts'
import { Chronicle } from '../../../src/daemon/telemetry/chronicle.ts'
import { openControlSocket } from '../../../src/http/control-socket.ts'
import { sourceOf } from '../../../src/http/event-route.ts'
import { eventually } from '../../../src/lab/wait.ts'
import { FakeWorld } from '../../unit/daemon/fake-world.ts'

let directory = ''
const servers: Server[] = []
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'hf-events-'))
})
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
  rmSync(directory, { recursive: true, force: true })
})

const places = () => ({ socket: join(directory, 'holdfast.sock'), file: join(directory, 'events.jsonl') })

async function open(chronicle: Chronicle): Promise<Server> {
  const world = new FakeWorld().start()
  const server = await openControlSocket(places().socket, {
    snapshot: () => world.daemon.snapshot(),
    events: sourceOf(chronicle),
    metrics: () => Promise.reject(new Error('there are none')),
    peerOf: () => ({ pid: 7, uid: 0 }),
    onRefused: () => {},
    onUnsafe: () => {},
  })
  servers.push(server)
  return server
}

const told = async (options: { json?: boolean; since?: string } = {}) =>
  await eventsCommand({ ...places(), json: options.json ?? false, since: options.since })

test('holdfast events prints a line for each event, with its cause', async () => {
  const chronicle = new Chronicle()
  chronicle.record({ kind: 'stopOrdered', trigger: 'SIGTERM' })
  chronicle.record({ kind: 'stopped' })
  await open(chronicle)
  const { exitCode, stdout, stderr } = await told()
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
  expect(stdout).toMatch(/^1 \d{4}-\S+Z stopOrdered trigger=SIGTERM\n2 \S+ stopped \(because of 1\)\n$/)
  const { stdout: json } = await told({ json: true })
  expect(
    json
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual(chronicle.read().events)
})

test('events that the daemon has forgotten come from its journal file, each event once', async () => {
  const chronicle = new Chronicle()
  for (let i = 0; i < 3; i++) chronicle.record({ kind: 'packetsLost', interface: 'eth0', count: i + 1 })
  const all = chronicle.read().events
  writeFileSync(places().file, all.map((event) => `${JSON.stringify(event)}\n`).join(''))
  const later = new Chronicle()
  later.continue(all.slice(1))
  later.file = places().file
  later.record({ kind: 'stopped' })
  await open(later)
  const { stdout } = await told({ json: true })
  expect(
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).seq),
  ).toEqual([1, 2, 3, 4])
})

test('without a daemon, holdfast events prints the journal file and a note, and without a file it ends with status 69', async () => {
  const chronicle = new Chronicle()
  chronicle.record({ kind: 'stopped' })
  writeFileSync(places().file, `${JSON.stringify(chronicle.read().events[0])}\n`)
  const down = await told()
  expect(down).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^1 .* stopped/) })
  expect(down.stderr).toMatch(/^holdfast: Cannot reach the daemon at .*holdfast\.sock: /)
  rmSync(places().file)
  expect(await told()).toMatchObject({ exitCode: 69, stdout: '' })
})

test('--since accepts a duration or a time, and any other value ends with status 64', async () => {
  expect(momentOf('2h', 10_000_000)).toBe(2_800_000)
  expect(momentOf('2026-11-22T03:00:00Z', 0)).toBe(Date.parse('2026-11-22T03:00:00Z'))
  expect(momentOf('yesterday evening', 0)).toBeUndefined()
  const chronicle = new Chronicle()
  chronicle.record({ kind: 'stopped' })
  await open(chronicle)
  expect((await told({ since: '1h' })).stdout).not.toBe('')
  expect((await told({ since: '2100-01-01T00:00:00Z' })).stdout).toBe('')
  expect(await told({ since: 'when?' })).toMatchObject({ exitCode: 64, stderr: expect.stringContaining('"when?"') })
})

test('--follow prints new events, also after a restart of the daemon', async () => {
  const first = new Chronicle()
  first.record({ kind: 'stopOrdered', trigger: 'SIGTERM' })
  const server = await open(first)
  const lines: string[] = []
  const end = new AbortController()
  const { latest } = await told()
  const following = followEvents({ ...places(), json: true }, latest, (text) => lines.push(text), end.signal)
  const numbers = () => lines.map((line) => JSON.parse(line).seq)
  const see = (wanted: readonly number[]) =>
    eventually(`events ${wanted}`, () => numbers().join() === wanted.join(), { sight: numbers, within: 10_000 })
  first.record({ kind: 'stopped' })
  await see([2])
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  const second = new Chronicle()
  second.continue(first.read().events)
  second.record({ kind: 'stopped' })
  await open(second)
  await see([2, 3])
  end.abort()
  await following
})

test('holdfast events requests pages until the last one', async () => {
  const chronicle = new Chronicle()
  for (let i = 0; i < 250; i++) chronicle.record({ kind: 'stopped' })
  const asked: number[] = []
  const page = await allPages(async (after) => {
    asked.push(after)
    return chronicle.read({ after, limit: 100 })
  })
  expect(page.events.map(({ seq }) => seq)).toEqual(Array.from({ length: 250 }, (_, i) => i + 1))
  expect(asked).toEqual([0, 100, 200])
})
