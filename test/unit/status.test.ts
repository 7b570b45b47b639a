/** `holdfast status` against a control socket, a dead one, a foreign one and none; and what the HTTP doors refuse. */
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { type IncomingHttpHeaders, request, type Server } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { isAnswered, openControlSocket } from '../../src/api/control-socket.ts'
import { createApi, json, text } from '../../src/api/server.ts'
import { formatStatus, statusCommand } from '../../src/cli/status.ts'
import { FakeWorld, failure } from './fake-world.ts'

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

function ask(socketPath: string, path: string, method = 'GET'): Promise<Answer> {
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
    asked.end()
  })
}

async function control(): Promise<{ path: string; world: FakeWorld; server: Server }> {
  const world = new FakeWorld().start()
  const path = join(directory, 'run', 'holdfast.sock')
  const server = await openControlSocket(path, () => world.daemon.snapshot())
  servers.push(server)
  return { path, world, server }
}

test('a daemon that runs: lines for people, JSON for programs, only its owner may connect', async () => {
  const { path, world } = await control()
  const told = await statusCommand(path, { json: false })
  expect([told.exitCode, told.stderr]).toEqual([0, ''])
  expect(told.stdout).toContain('api: Backup since')
  const { stdout } = await statusCommand(path, { json: true })
  expect(JSON.parse(stdout)).toMatchObject({ version: 1, routers: [{ name: 'api', vrid: 51 }] })
  expect(world.router().state).toBe('Backup')
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

test('what did not leave this node and who else answers is told, and only when there is any', () => {
  const world = new FakeWorld().start()
  expect(formatStatus(world.daemon.snapshot()), 'nothing went wrong').not.toMatch(/SEND FAILURES|RIVAL/)
  world.sendFailure = failure('ENOBUFS')
  world.advance(10_000)
  const snapshot = world.daemon.snapshot()
  const { ENOBUFS: failed } = world.router().counters.sendFailures
  expect(failed, 'advertisements refused by the kernel in 10 s').toBeGreaterThan(1)
  expect(formatStatus(snapshot)).toContain(`\n  SEND FAILURES: ENOBUFS, ${failed} times since the start`)

  const answered = (rivalAnswers: number) =>
    snapshot.routers.map((router) => ({ ...router, counters: { ...router.counters, rivalAnswers } }))
  expect(formatStatus({ ...snapshot, routers: answered(7) })).toContain(
    '\n  RIVAL: another host answers for it: 7 times since the start\n',
  )
  expect(formatStatus({ ...snapshot, routers: answered(1) })).toContain('answers for it: once since the start\n')
})

test('no daemon: exit 69, one line that names the socket', async () => {
  const { exitCode, stdout, stderr } = await statusCommand(join(directory, 'none.sock'), { json: false })
  expect([exitCode, stdout]).toEqual([69, ''])
  expect(stderr).toMatch(/^holdfast: Cannot reach the daemon at .*none\.sock: .*\n$/)
})

test('a daemon that says nothing: exit 69 within 4 s', async () => {
  const path = join(directory, 'mute.sock')
  const mute = createServer()
  servers.push(mute)
  await new Promise<void>((resolve) => mute.listen(path, resolve))
  const before = performance.now()
  const { exitCode, stderr } = await statusCommand(path, { json: false })
  expect([exitCode, stderr]).toEqual([69, expect.stringContaining('no answer in 3000 ms')])
  expect(performance.now() - before).toBeLessThan(4_000)
})

test('a program that is no daemon: exit 69, not a stack trace', async () => {
  const path = join(directory, 'other.sock')
  const other = createApi({ '/v1/status': () => ({ status: 200, contentType: 'text/html', body: '<html>' }) })
  servers.push(other)
  await new Promise<void>((resolve) => other.listen(path, resolve))
  expect((await statusCommand(path, { json: false })).exitCode).toBe(69)
})

test('a socket that a dead daemon left is taken over, one that is answered is not', async () => {
  const { path, server } = await control()
  await expect(openControlSocket(path, () => new FakeWorld().daemon.snapshot())).rejects.toThrow(
    /Cannot listen on .*: another daemon answers there/,
  )
  expect(await isAnswered(path)).toBe(true)
  await new Promise((resolve) => server.close(resolve))
  expect(await isAnswered(path)).toBe(false)
})

test('a file that is no socket is left alone', async () => {
  const path = join(directory, 'file')
  writeFileSync(path, 'precious')
  await expect(openControlSocket(path, () => new FakeWorld().daemon.snapshot())).rejects.toThrow(/Cannot listen on/)
  expect(statSync(path).size).toBe(8)
})

test('only GET and HEAD, only what is there, and silence is said to be silence', async () => {
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
