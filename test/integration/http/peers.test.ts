/** Requests to other nodes for the status page, over real sockets, to nodes that are well, slow, old or absent. */
import { spawn } from 'node:child_process'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { text as readAll } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { askPeer } from '../../../src/http/peers/peer-request.ts'
import { readPeerStatus } from '../../../src/http/peers/peer-status.ts'
import { Peers } from '../../../src/http/peers/peers.ts'
import { FakeWorld } from '../../unit/daemon/fake-world.ts'

const EVENT = { monotonicMs: 1, kind: 'stopped' } as const
const events = (...seqs: number[]) => seqs.map((seq) => ({ ...EVENT, seq, at: new Date(seq).toISOString() }))
const status = (more: object = {}) => ({ ...new FakeWorld().start().daemon.snapshot(), hostname: 'other', ...more })

const ROOT = join(import.meta.dirname, '..', '..', '..')

let server: Server
let answers: Record<string, unknown>
let asked: string[]
let url: string
beforeEach(async () => {
  answers = { '/v1/status': status(), '/v1/events': { events: [] } }
  asked = []
  server = createServer((request, response) => {
    asked.push(request.url ?? '')
    const answer = answers[(request.url ?? '').split('?')[0] ?? '']
    if (answer === 'silence') return
    if (answer === undefined) response.statusCode = 404
    if (typeof answer === 'function') return answer(response)
    response.end(typeof answer === 'string' ? answer : JSON.stringify(answer))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const at = server.address()
  url = `http://127.0.0.1:${typeof at === 'object' ? at?.port : ''}`
})
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

async function one(peers = new Peers([url])) {
  const [answer] = (await peers.ask()).peers
  if (answer === undefined) throw new Error('no answer')
  return answer
}

test('a peer gives its status, journal and clock', async () => {
  const takenAt = new Date(Date.now() + 5_000).toISOString()
  answers['/v1/status'] = status({ takenAt, secret: 'x'.repeat(1_000) })
  answers['/v1/events'] = { events: events(1, 2) }
  const answer = await one()
  expect(answer.problem).toBe(null)
  expect(answer.status?.hostname).toBe('other')
  expect(JSON.stringify(answer), 'answer of the peer without fields that the page does not show').not.toContain(
    'secret',
  )
  expect(answer.events.map(({ seq }) => seq)).toEqual([1, 2])
  expect(answer.clockOffsetMs, 'offset of the peer clock in ms, about 5 s').toBeGreaterThan(3_000)
  expect(answer.clockOffsetMs).toBeLessThan(5_100)
})

test('known events are not requested again unless the journal starts again', async () => {
  const peers = new Peers([url])
  answers['/v1/events'] = { events: events(1, 2) }
  await one(peers)
  answers['/v1/events'] = { events: events(3) }
  expect((await one(peers)).events.map(({ seq }) => seq)).toEqual([1, 2, 3])
  expect(asked.filter((path) => path.startsWith('/v1/events'))).toEqual(['/v1/events', '/v1/events?after=2'])

  answers['/v1/status'] = status({ startedAt: new Date(0).toISOString() })
  answers['/v1/events'] = { events: events(1) }
  expect((await one(peers)).events.map(({ seq }) => seq)).toEqual([1])
  expect(asked.at(-1)).toBe('/v1/events')
})

test('a node without a readable journal is shown by its status', async () => {
  answers['/v1/events'] = undefined
  expect(await one()).toMatchObject({ problem: null, events: [] })
  answers['/v1/events'] = {
    events: [{ ...EVENT, seq: 1, at: new Date(0).toISOString(), kind: 'ofTheFuture' }, ...events(2)],
  }
  expect((await one()).events.map(({ seq }) => seq)).toEqual([2])
})

test('a peer that does not answer delays no other peer, and its answer is not quoted', async () => {
  const peers = new Peers([url, 'http://127.0.0.1:1'])
  const startedAt = performance.now()
  const [well, gone] = (await peers.ask()).peers
  expect(performance.now() - startedAt, 'ms until all peers that answer have answered').toBeLessThan(1_000)
  expect(well?.problem).toBe(null)
  expect(gone).toMatchObject({
    problem: 'connection refused (the API does not run there)',
    status: null,
    roundTripMs: null,
  })
  await one(peers)
  answers['/v1/status'] = undefined
  expect(await one(peers)).toMatchObject({ problem: 'it answered 404', status: null })
})

test.each([
  ['is no JSON', () => 'ok\n', 'the answer is not JSON'],
  ['is of another program', () => ({ version: 1 }), 'this version cannot read its status'],
  ['is of another version', () => status({ version: 2 }), 'this version cannot read its status'],
  ['names without end', () => status({ hostname: 'x'.repeat(301) }), 'this version cannot read its status'],
  ['never comes', () => 'silence', 'no answer within 1000 ms'],
])('an answer that %s', async (_, answer, problem) => {
  answers['/v1/status'] = answer()
  expect(await one()).toMatchObject({ problem, status: null })
})

test('an endless answer is cut off', async () => {
  answers['/v1/status'] = (response: NodeJS.WritableStream) => {
    const more = () => {
      while (response.writable && response.write('x'.repeat(1 << 16)));
    }
    response.on('drain', more)
    more()
  }
  await expect(askPeer(new URL('/v1/status', url), 10_000)).rejects.toThrow('the answer is too long')
})

const HOSTILE: readonly (readonly [string, () => string])[] = [
  ['8 MiB of lists', () => `[${'[],'.repeat(2_790_000)}0]`],
  ['1 MiB of lists', () => `[${'[],'.repeat(340_000)}0]`],
  ['1 MiB of routers', () => JSON.stringify(status({ routers: Array.from({ length: 300_000 }, () => []) }))],
]

test.each(HOSTILE)('an answer of %s does not exhaust a heap of 64 MiB', async (_, text) => {
  answers['/v1/status'] = text()
  const asking = `import { Peers } from ${JSON.stringify(join(ROOT, 'dist', 'http', 'peers', 'peers.js'))}
    const peers = new Peers(Array(4).fill(${JSON.stringify(url)}))
    for (let i = 0; i < 2; i++) for (const { problem } of (await peers.ask()).peers) console.log(problem)`
  const node = spawn(process.execPath, ['--max-old-space-size=64', '--input-type=module', '-e', asking], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [output, complaint] = await Promise.all([readAll(node.stdout), readAll(node.stderr)])
  expect(complaint.replace(/^.*extra certs.*$/m, '').trim()).toBe('')
  const problems = output.trim().split('\n')
  expect(problems).toHaveLength(8)
  for (const problem of problems)
    expect(problem).toMatch(/^the answer is too long|^this version cannot read its status|^no answer within/)
})

test('redirects are not followed', async () => {
  answers['/v1/status'] = (response: import('node:http').ServerResponse) => {
    response.writeHead(302, { location: `${url}/v1/events` })
    response.end()
  }
  expect(await one()).toMatchObject({ problem: 'it answered 302' })
  expect(asked).toEqual(['/v1/status'])
})

test('this version reads its own status in every state', () => {
  const world = new FakeWorld().start()
  expect(readPeerStatus(JSON.parse(JSON.stringify(world.daemon.snapshot())))?.routers[0]?.state).toBe('Backup')
  world.hear(200)
  expect(readPeerStatus(JSON.parse(JSON.stringify(world.daemon.snapshot())))?.routers[0]?.holder.priority).toBe(200)
})
