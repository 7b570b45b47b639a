/** Access to the control socket: which users are admitted, which are refused and counted, and which socket a client trusts. */
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { request as httpRequest, type Server } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { formatStatus, statusCommand } from '../../../src/cli/status/status.ts'
import { Chronicle } from '../../../src/daemon/telemetry/chronicle.ts'
import { ask } from '../../../src/files/control-client.ts'
import type { ControlPeer } from '../../../src/files/private-socket.ts'
import { unsafeFolder, unusableFolder } from '../../../src/files/socket-folder.ts'
import { openControlSocket } from '../../../src/http/control-socket.ts'
import { sourceOf } from '../../../src/http/event-route.ts'
import { createApi, text } from '../../../src/http/server.ts'
import { FakeWorld } from '../../unit/daemon/fake-world.ts'

const OWN = process.geteuid?.() ?? 0
const OTHER = 4_711
/** Longest time in milliseconds for an answer on a busy machine. */
const WITHIN = 10_000
let directory = ''
const servers: { close(): unknown }[] = []
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'hf-control-'))
})
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
  rmSync(directory, { recursive: true, force: true })
})

type Seen = { refused: (ControlPeer | undefined)[]; unsafe: string[]; stops: number; server: Server; path: string }

async function control(peer: ControlPeer | undefined, path = join(directory, 'run', 'holdfast.sock')): Promise<Seen> {
  const world = new FakeWorld().start()
  const seen = { refused: [] as (ControlPeer | undefined)[], unsafe: [] as string[], stops: 0 }
  const server = await openControlSocket(path, {
    snapshot: () => world.daemon.snapshot(),
    events: sourceOf(new Chronicle()),
    metrics: () => Promise.reject(new Error('nobody has made them')),
    commands: { '/v1/stop': () => text(202, `stop ${++seen.stops}`) },
    peerOf: () => peer,
    onRefused: (who) => void seen.refused.push(who),
    onUnsafe: (message) => void seen.unsafe.push(message),
  })
  servers.push(server)
  return Object.assign(seen, { server, path })
}

test.each([0, OWN])('the user %s is answered', async (uid) => {
  const seen = await control({ pid: 7, uid })
  expect((await ask(seen.path, { path: '/v1/status', within: WITHIN })).status).toBe(200)
  expect((await ask(seen.path, { path: '/v1/stop', order: {}, within: WITHIN })).status).toBe(202)
  expect([seen.refused, seen.stops]).toEqual([[], 1])
})

test('metrics without a source answer that there are none', async () => {
  const { path } = await control({ pid: 7, uid: 0 })
  const { body, status } = await ask(path, { path: '/metrics', within: WITHIN })
  expect([status, body]).toEqual([503, 'nobody has made them\n'])
})

test.each([
  ['another user', { pid: 7, uid: OTHER }],
  ['one of whom the kernel says nothing', undefined],
] as const)('%s gets 403 for questions and commands, which are not carried out', async (_, peer) => {
  const seen = await control(peer)
  const asked = await ask(seen.path, { path: '/v1/status', within: WITHIN })
  expect([asked.status, asked.body]).toEqual([403, `Only root and the user ${OWN} have access\n`])
  expect((await ask(seen.path, { path: '/v1/stop', order: {}, within: WITHIN })).status).toBe(403)
  expect([seen.refused, seen.stops]).toEqual([[peer, peer], 0])
  const told = await statusCommand(seen.path, { json: false })
  expect([told.exitCode, told.stderr]).toEqual([69, expect.stringContaining('it answered 403: Only root and')])
})

test('the socket is created with mode 0600, and the umask is restored', async () => {
  const before = process.umask(0o022)
  try {
    const { path } = await control({ pid: 7, uid: 0 })
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(process.umask()).toBe(0o022)
  } finally {
    process.umask(before)
  }
})

test('a missing folder is created, and a failure is reported', () => {
  const file = join(directory, 'file')
  writeFileSync(file, '')
  expect(unusableFolder(join(file, 'run'))).toMatch(/^Cannot write in .*file\/run \(ENOTDIR\)\. /)
  expect(unusableFolder(join(directory, 'new', 'run'))).toBeUndefined()
})

test('a folder in which others may rename is reported, and one with the sticky bit is safe', async () => {
  const folder = join(directory, 'open')
  mkdirSync(folder)
  const path = join(folder, 'holdfast.sock')
  expect(unsafeFolder(path)).toBeUndefined()
  chmodSync(folder, 0o1777)
  expect(unsafeFolder(path)).toBeUndefined()
  chmodSync(folder, 0o777)
  expect(unsafeFolder(path)).toBe(`other users may rename files in ${folder} (mode 0777): use chmod go-w`)
  chmodSync(folder, 0o775)
  expect(unsafeFolder(join(folder, 'own', '..', 'holdfast.sock'))).toContain('mode 0775')
  const seen = await control({ pid: 7, uid: 0 }, path)
  expect(seen.unsafe).toEqual([
    expect.stringMatching(/^The control socket .*holdfast\.sock is in an unsafe folder: other users may rename/),
  ])
})

test.runIf(OWN === 0)('a client does not believe the socket of a user who has put it into our folder', async () => {
  const path = join(directory, 'planted.sock')
  const planted = createServer()
  servers.push(planted)
  await new Promise<void>((resolve) => planted.listen(path, resolve))
  chownSync(path, OTHER, OTHER)
  const told = await statusCommand(path, { json: false })
  expect([told.exitCode, told.stderr]).toEqual([
    69,
    `holdfast: Cannot reach the daemon at ${path}: the socket belongs to user ${OTHER}, not to the user of the daemon\n`,
  ])
  // The daemon of an unprivileged user has its run directory as well.
  chownSync(directory, OTHER, OTHER)
  expect((await statusCommand(path, { json: false })).stderr).toContain('no answer in 3000 ms')
  expect(unsafeFolder(path)).toBe(`${directory} belongs to the user ${OTHER}`)
})

test('the status counts refused users and names a keepalived on the same node', () => {
  const world = new FakeWorld().start()
  const snapshot = world.daemon.snapshot()
  expect(formatStatus(snapshot)).not.toMatch(/REFUSED|BESIDE/)
  const told = formatStatus({ ...snapshot, controlRefused: 2, keepalivedBeside: [{ pid: 12, name: 'keepalived' }] })
  expect(told).toContain("\nCONTROL SOCKET: a client that was neither root nor the daemon's user was refused 2 times\n")
  expect(told).toContain('\nKEEPALIVED (pid 12) spoke VRRP on this node when holdfast was started with --force\n')
})

test('an answer above the limit is not sent', async () => {
  const path = join(directory, 'large.sock')
  const body = 'a'.repeat((8 << 20) + 1)
  const server = createApi({ '/large': () => ({ status: 200, contentType: 'text/plain', body }) })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(path, resolve))
  const { status, body: told } = await ask(path, { path: '/large', within: WITHIN })
  expect([status, told]).toEqual([500, 'the answer is too long: 8388609 characters, limit 8388608\n'])
})

test('a large command has its own limit, and a body that is not UTF-8 is refused', async () => {
  const path = join(directory, 'commands.sock')
  const taken: [number, string | null][] = []
  const take = (body: string, query: URLSearchParams) => {
    taken.push([body.length, query.get('by')])
    return text(200, 'taken')
  }
  const server = createApi({}, { '/large': { largest: 10_000, take }, '/small': take })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(path, resolve))
  const post = (where: string, body: string) => ask(path, { path: where, text: body, within: WITHIN })
  expect((await post('/large?by=me', 'a'.repeat(10_000))).status).toBe(200)
  const long = await post('/large', 'a'.repeat(10_001))
  expect([long.status, long.body]).toEqual([413, 'the body is too long, limit 10000 octets\n'])
  expect((await post('/small', 'a'.repeat(4_097))).status).toBe(413)
  expect(taken).toEqual([[10_000, 'me']])
  const asked = await new Promise<number | undefined>((resolve, reject) => {
    const request = httpRequest({ socketPath: path, path: '/large', method: 'POST', agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    request.once('error', reject)
    request.end(Buffer.from([0xff, 0xfe]))
  })
  expect([asked, taken.length]).toEqual([400, 1])
})
