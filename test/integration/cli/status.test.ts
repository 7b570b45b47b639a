/** `holdfast status` with a living, a dead, a foreign and a missing control socket, and the requests that the HTTP listeners refuse. */
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { type IncomingHttpHeaders, request, type Server } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ReloadAnswer } from '../../../src/app/configuration/reload-answer.ts'
import { reloadCommand } from '../../../src/cli/reload.ts'
import { formatStatus, statusCommand } from '../../../src/cli/status/status.ts'
import { stopCommand } from '../../../src/cli/stop.ts'
import { Chronicle } from '../../../src/daemon/telemetry/chronicle.ts'
import type { Snapshot } from '../../../src/daemon/telemetry/snapshot.ts'
import { isAnswered } from '../../../src/files/private-socket.ts'
import { openControlSocket } from '../../../src/http/control-socket.ts'
import { sourceOf } from '../../../src/http/event-route.ts'
import { createApi, json, text } from '../../../src/http/server.ts'
import { FakeWorld, failure } from '../../unit/daemon/fake-world.ts'

let directory = ''
const servers: { close(): unknown }[] = []
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'hf-status-'))
})
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
  rmSync(directory, { recursive: true, force: true })
})

type Answer = { readonly status: number | undefined; readonly headers: IncomingHttpHeaders; readonly body: string }

function ask(socketPath: string, path: string, method = 'GET', order?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath, path, method, agent: false }, (response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        body += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, body }))
    })
    asked.on('error', reject)
    asked.end(order)
  })
}

/** Builds the ports of a control socket; `uid` is the user of every client. */
const ports = (snapshot: () => Snapshot, uid: number | undefined = 0, refused: unknown[] = []) => ({
  snapshot,
  events: sourceOf(new Chronicle()),
  metrics: () => Promise.reject(new Error('there are none')),
  peerOf: () => (uid === undefined ? undefined : { pid: 7, uid }),
  onRefused: (peer: unknown) => void refused.push(peer),
  onUnsafe: () => {},
})

async function control(): Promise<{ path: string; world: FakeWorld; server: Server }> {
  const world = new FakeWorld().start()
  const path = join(directory, 'run', 'holdfast.sock')
  const server = await openControlSocket(
    path,
    ports(() => world.daemon.snapshot()),
  )
  servers.push(server)
  return { path, world, server }
}

test('a running daemon gives lines for people and JSON for programs, and only its user may connect', async () => {
  const { path, world } = await control()
  const told = await statusCommand(path, { json: false })
  expect([told.exitCode, told.stderr]).toEqual([0, ''])
  expect(told.stdout).toContain('api: Backup since')
  const { stdout } = await statusCommand(path, { json: true })
  expect(JSON.parse(stdout)).toMatchObject({ version: 1, routers: [{ name: 'api', vrid: 51 }] })
  expect(world.router().state).toBe('Backup')
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

test('status shows packets that could not be sent, and nothing if all were sent', () => {
  const world = new FakeWorld().start()
  expect(formatStatus(world.daemon.snapshot()), 'status without a failed sending').not.toMatch(/SEND FAILURES/)
  world.sendFailure = failure('ENOBUFS')
  world.advance(10_000)
  const snapshot = world.daemon.snapshot()
  const { ENOBUFS: failed } = world.router().counters.sendFailures
  expect(failed, 'advertisements refused by the kernel in 10 s').toBeGreaterThan(1)
  expect(formatStatus(snapshot)).toContain(`\n  SEND FAILURES: ENOBUFS, ${failed} times since the start`)
})

test('without a daemon, status ends with 69 and one line that names the socket', async () => {
  const { exitCode, stdout, stderr } = await statusCommand(join(directory, 'none.sock'), { json: false })
  expect([exitCode, stdout]).toEqual([69, ''])
  expect(stderr).toMatch(/^holdfast: Cannot reach the daemon at .*none\.sock: .*\n$/)
})

test('with a daemon that does not answer, status ends with 69 within 4 s', async () => {
  const path = join(directory, 'mute.sock')
  const mute = createServer()
  servers.push(mute)
  await new Promise<void>((resolve) => mute.listen(path, resolve))
  const before = performance.now()
  const { exitCode, stderr } = await statusCommand(path, { json: false })
  expect([exitCode, stderr]).toEqual([69, expect.stringContaining('no answer in 3000 ms')])
  expect(performance.now() - before).toBeLessThan(4_000)
})

test('with another program at the socket, status ends with 69 and no stack trace', async () => {
  const path = join(directory, 'other.sock')
  const other = createApi({ '/v1/status': () => ({ status: 200, contentType: 'text/html', body: '<html>' }) })
  servers.push(other)
  await new Promise<void>((resolve) => other.listen(path, resolve))
  expect((await statusCommand(path, { json: false })).exitCode).toBe(69)
})

test('a daemon replaces the socket of a dead daemon, and leaves a socket with a listener', async () => {
  const { path, server } = await control()
  await expect(
    openControlSocket(
      path,
      ports(() => new FakeWorld().daemon.snapshot()),
    ),
  ).rejects.toThrow(/Cannot listen on .*: another daemon answers there/)
  expect(await isAnswered(path)).toBe(true)
  await new Promise((resolve) => server.close(resolve))
  expect(await isAnswered(path)).toBe(false)
})

test('a daemon does not replace a file that is no socket', async () => {
  const path = join(directory, 'file')
  writeFileSync(path, 'precious')
  await expect(
    openControlSocket(
      path,
      ports(() => new FakeWorld().daemon.snapshot()),
    ),
  ).rejects.toThrow(/Cannot listen on/)
  expect(statSync(path).size).toBe(8)
})

test('if a folder cannot be created, the message names its purpose', async () => {
  const path = join(directory, 'not-a-folder', 'x', 'holdfast.sock')
  writeFileSync(join(directory, 'not-a-folder'), '')
  await expect(
    openControlSocket(
      path,
      ports(() => new FakeWorld().daemon.snapshot()),
    ),
  ).rejects.toThrow(/^Cannot listen on .*holdfast.sock: ENOTDIR/)
})

test('the socket serves existing paths by GET and HEAD only, and reports an engine that does not answer', async () => {
  const path = join(directory, 'api.sock')
  const server = createApi({
    '/v1/status': () => json({ version: 1 }),
    '/metrics': () => Promise.reject(new Error('The engine has not answered for 1000 ms')),
    '/healthz': () => text(200, 'ok'),
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(path, resolve))
  expect(await ask(path, '/healthz?x=1')).toMatchObject({ status: 200, body: 'ok\n' })
  expect(await ask(path, '/metrics')).toMatchObject({ status: 503, body: 'The engine has not answered for 1000 ms\n' })
  for (const name of ['/', '/nothing', '/__proto__', '/constructor', '/v1/status/']) {
    expect((await ask(path, name)).status, name).toBe(404)
  }
  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
    const { status, headers } = await ask(path, '/v1/status', method)
    expect([status, headers.allow], method).toEqual([405, 'GET, HEAD'])
  }
  const head = await ask(path, '/v1/status', 'HEAD')
  const get = await ask(path, '/v1/status')
  expect([head.status, head.body, head.headers['content-length']]).toEqual([200, '', String(get.body.length)])
})

test('a command needs POST, has a bounded body, and reports its failure', async () => {
  const path = join(directory, 'commands.sock')
  const taken: string[] = []
  const server = createApi(
    { '/v1/status': () => json({ version: 1 }) },
    {
      '/v1/echo': (body) => {
        taken.push(body)
        return text(202, 'taken')
      },
      '/v1/broken': () => Promise.reject(new Error('no such thing')),
    },
  )
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(path, resolve))
  expect(await ask(path, '/v1/echo', 'POST', '{"a":1}')).toMatchObject({ status: 202, body: 'taken\n' })
  expect(await ask(path, '/v1/echo?x', 'POST')).toMatchObject({ status: 202 })
  expect((await ask(path, '/v1/echo', 'POST', 'x'.repeat(4_096))).status, 'status for the longest allowed body').toBe(
    202,
  )
  expect(
    (await ask(path, '/v1/echo', 'POST', 'x'.repeat(4_097))).status,
    'status for a body that is one octet too long',
  ).toBe(413)
  expect((await ask(path, '/v1/echo', 'POST', 'x'.repeat(3_000_000))).status, 'status for a body of 3 MB').toBe(413)
  expect(taken.map(({ length }) => length)).toEqual([7, 0, 4_096])
  expect(await ask(path, '/v1/broken', 'POST')).toMatchObject({ status: 503, body: 'no such thing\n' })
  for (const method of ['GET', 'HEAD', 'PUT', 'DELETE']) {
    const { status, headers } = await ask(path, '/v1/echo', method)
    expect([status, headers.allow], method).toEqual([405, 'POST'])
  }
  const wrong = await ask(path, '/v1/status', 'POST', '{}')
  expect([wrong.status, wrong.headers.allow]).toEqual([405, 'GET, HEAD'])
  expect((await ask(path, '/v1/nothing', 'POST')).status).toBe(405)
  expect(await ask(path, '/v1/nothing')).toMatchObject({ status: 404, body: expect.stringContaining('/v1/echo') })
  expect(await ask(path, '/v1/status'), 'answer to the next request').toMatchObject({ status: 200 })
})

test('each command without a daemon ends with 69 and the same line', async () => {
  const path = join(directory, 'none.sock')
  for (const result of [await reloadCommand(path, { json: false }), await stopCommand(path)]) {
    expect([result.exitCode, result.stdout]).toEqual([69, ''])
    expect(result.stderr).toMatch(/^holdfast: Cannot reach the daemon at .*none\.sock: .*\n$/)
  }
})

test('reload prints the changes or the problems of the file, and its exit status distinguishes them', async () => {
  const path = join(directory, 'reload.sock')
  const problem = { file: '/f.yaml', line: 3, column: 7, path: 'a', message: 'no', severity: 'error' as const }
  const answers: [number, ReloadAnswer][] = [
    [
      200,
      {
        ok: true,
        file: '/f.yaml',
        hash: '0123456789ab',
        changes: [{ router: 'api', change: 'changed' }],
        unchanged: 1,
        groupsChanged: true,
        checksChanged: ['web'],
        restartOnly: ['io'],
        values: [
          { section: 'virtualRouters', name: 'api', key: 'priority', from: '150', to: '110' },
          { section: 'syncGroups', name: 'both', key: 'track', from: '[web -20]', to: '[web -60]' },
          { section: 'healthchecks', name: 'web', key: 'http', from: null, to: null },
          { section: null, name: null, key: 'io', from: 'addon', to: 'raw-socket' },
          { section: null, name: null, key: 'notify.webhook.url', from: null, to: null },
        ],
        warnings: [{ ...problem, severity: 'warning' }],
        pausedMs: 1,
      },
    ],
    [422, { ok: false, file: '/f.yaml', fault: 'invalid', reason: 'one problem', problems: [problem] }],
    [409, { ok: false, file: '/f.yaml', fault: 'failed', reason: 'the daemon is leaving', problems: [] }],
  ]
  const queue = [...answers, ...answers]
  const server = createApi({}, { '/v1/reload': () => json(queue[0]?.[1], queue.shift()?.[0]) })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(path, resolve))
  const kept = 'the configuration in force is kept\n'
  expect(await reloadCommand(path, { json: false })).toEqual({
    exitCode: 0,
    stdout:
      '/f.yaml:3:7: warning: no\napi: changed (priority 150 → 110)\nsync groups: changed (both: track [web -20] → [web -60])\n' +
      'health check web: changed (http changed)\nnotify.webhook.url changed\n' +
      'warning: io has changed (addon → raw-socket): it takes effect at the next start\n' +
      '/f.yaml: reloaded (0123456789ab), 1 router unchanged\n',
    stderr: '',
  })
  expect(await reloadCommand(path, { json: false })).toEqual({
    exitCode: 78,
    stdout: '',
    stderr: `/f.yaml:3:7: no\nholdfast: Cannot reload /f.yaml: one problem; ${kept}`,
  })
  expect(await reloadCommand(path, { json: false })).toMatchObject({
    exitCode: 1,
    stderr: `holdfast: Cannot reload /f.yaml: the daemon is leaving; ${kept}`,
  })
  for (const [i, exitCode] of [0, 78, 1].entries()) {
    const { stdout, ...rest } = await reloadCommand(path, { json: true })
    expect([rest, JSON.parse(stdout)]).toEqual([{ exitCode, stderr: '' }, answers[i]?.[1]])
  }
})

test("status counts keepalived's keywords by their handling, and shows a stop", async () => {
  const { world } = await control()
  const snapshot = world.daemon.snapshot()
  const counts = { carried: 41, withoutEffect: 3, notSupported: 1, refused: 0, unknown: 2 }
  const config = { ...snapshot.config, file: '/k.conf', imported: counts, stoppedAt: '2026-11-22T00:00:00.000Z' }
  const told = formatStatus({ ...snapshot, config })
  expect(told).toContain(
    "keepalived's file: 41 keywords carried over, 3 without effect, 1 NOT SUPPORTED, 2 UNKNOWN (holdfast convert",
  )
  expect(told).toContain('STOPPED at 2026-11-22 00:00:00, ')
  expect(formatStatus(snapshot)).not.toMatch(/keepalived's|STOPPED/)
})

test('status shows a failed reload until a reload succeeds', async () => {
  const { world } = await control()
  const snapshot = world.daemon.snapshot()
  expect(formatStatus(snapshot)).not.toMatch(/configuration|RELOAD/)
  const config = { ...snapshot.config, file: '/f.yaml', hash: '0123456789ab' }
  expect(formatStatus({ ...snapshot, config })).toContain('\nconfiguration: /f.yaml, 0123456789ab, loaded ')
  const problem = { file: '/f.yaml', line: 3, column: 7, path: 'a', message: 'no', severity: 'error' as const }
  const lastReload = { at: '2026-11-21T00:00:00.000Z', ok: false, reason: 'one problem', problems: [problem] }
  expect(formatStatus({ ...snapshot, config: { ...config, lastReload } })).toContain(
    '; the configuration in force was kept: one problem\n  /f.yaml:3:7: no\n',
  )
})
