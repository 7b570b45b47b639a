/** The worker without its thread: its behaviour when it cannot drop its privileges, and the limits for many clients. */
import { request } from 'node:http'
import { connect, createServer } from 'node:net'
import { hostname } from 'node:os'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { afterEach, expect, test } from 'vitest'
import { Chronicle } from '../../../src/daemon/telemetry/chronicle.ts'
import { eventPageSchema } from '../../../src/events/event-page.ts'
import type { OpenStream } from '../../../src/healthcheck/connection/stream.ts'
import { sourceOf } from '../../../src/http/event-route.ts'
import type { PortSettings } from '../../../src/http/port-settings.ts'
import { MOST_CONNECTIONS } from '../../../src/http/server.ts'
import { sharedAnswer } from '../../../src/http/shared-answer.ts'
import { eventually, sleep } from '../../../src/lab/wait.ts'
import { loadNative } from '../../../src/linux/native.ts'
import { openStream } from '../../../src/linux/sockets/stream.ts'
import { EXPORTER_METRICS } from '../../../src/metrics/exporter-names.ts'
import { runWorker } from '../../../src/worker/worker.ts'
import type { EngineAnswer, EngineMessage, EngineQuestion, WorkerMessage } from '../../../src/worker/worker-message.ts'
import { wholeReport } from '../../support/engine-reports.ts'
import { FakeWorld, link, ROUTER, VIP } from '../../unit/daemon/fake-world.ts'

const channels: MessagePort[] = []
afterEach(() => {
  for (const port of channels.splice(0)) port.close()
})

/** Returns a TCP port that was free a moment ago. */
function freePort(): Promise<number> {
  const server = createServer()
  return new Promise((resolve, reject) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() =>
        typeof address === 'object' && address ? resolve(address.port) : reject(new Error('no port')),
      )
    })
  })
}

async function worker(
  dropPrivileges: () => void,
  metricsCompat: PortSettings['metricsCompat'] = 'none',
  isPublic = false,
) {
  const { port1, port2 } = new MessageChannel()
  channels.push(port1, port2)
  const world = new FakeWorld([ROUTER], { healthchecks: [{ name: 'lb', exec: ['/bin/false'] }] }).start()
  const said: WorkerMessage[] = []
  const engine = { reports: 0, frozen: false, chronicle: new Chronicle() }
  const events = sourceOf(engine.chronicle)
  let unfollow = () => {}
  const tell = (message: EngineMessage) => port1.postMessage(message)
  const answerTo = async (question: EngineQuestion): Promise<EngineAnswer> => {
    if (question.about === 'beat') return { about: 'beat' }
    if (question.about === 'events') return { about: 'events', page: await events.events(question.wanted) }
    engine.reports++
    return { about: 'report', report: wholeReport(world.daemon) }
  }
  port1.on('message', (message: WorkerMessage) => {
    said.push(message)
    if (engine.frozen) return
    if (message.kind === 'asked')
      void answerTo(message.question).then((answer) => tell({ kind: 'answered', id: message.id, answer }))
    if (message.kind !== 'eventsFollowed') return
    unfollow()
    if (message.followed) unfollow = events.listen((event) => tell({ kind: 'happened', event }))
  })
  const port = await freePort()
  const settings = { listen: { host: '127.0.0.1', port }, isPublic, version: '1', metricsCompat, peers: [] }
  const native = loadNative()
  const { streamPair } = native
  const open: OpenStream = (...order) => openStream(native, ...order)
  runWorker({ engine: port2, settings, dropPrivileges, openStream: open, streamPair, watchEnd: () => undefined })
  port1.postMessage({ kind: 'serve' })
  return { port, thread: port1, engine, world, said }
}

function get(port: number, path: string): Promise<{ status: number | undefined; body: string }> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path, agent: false }, (response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        body += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode, body }))
    })
    asked.on('error', reject)
    asked.end()
  })
}

/** Requests events as a browser's EventSource does. */
function listen(
  port: number,
  headers: Readonly<Record<string, string>>,
): Promise<{ text: () => string; close(): void }> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path: '/v1/events', agent: false }
    const asked = request({ ...options, headers: { accept: 'text/event-stream', ...headers } }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('error', () => {})
      response.on('data', (chunk: string) => {
        text += chunk
      })
      resolve({ text: () => text, close: () => response.destroy() })
    })
    asked.on('error', reject)
    asked.end()
  })
}

const isListening = (said: readonly WorkerMessage[]) =>
  eventually('the port to be open', () => said.some(({ kind }) => kind === 'listening'), {
    sight: () => said,
    within: 5_000,
  })

test('without dropped privileges, the port stays closed with a reason, and files are still read', async () => {
  const { port, thread, world, said } = await worker(() => {
    throw new Error('capset: EPERM, operation not permitted')
  })
  await eventually('the reason', () => said.some(({ kind }) => kind === 'failed'), { sight: () => said, within: 5_000 })
  expect(said).toEqual([
    {
      kind: 'failed',
      message: `Cannot open 127.0.0.1:${port}: the worker thread keeps its privileges: capset: EPERM, operation not permitted`,
    },
  ])
  await sleep(50)
  await expect(get(port, '/metrics')).rejects.toThrow('ECONNREFUSED')
  const order = { file: '/nowhere.yaml', node: world.daemon.nodeView(), inForce: world.daemon.config }
  thread.postMessage({ kind: 'parse', id: 3, order })
  const parsed = await eventually('an answer', () => said.find(({ kind }) => kind === 'parsed'), {
    sight: () => said,
    within: 10_000,
  })
  expect(parsed).toMatchObject({ id: 3, fresh: { ok: false } })
})

test('the privileges are dropped before the port is opened', async () => {
  const order: string[] = []
  const { said } = await worker(() => void order.push('dropped'))
  expect(order).toEqual(['dropped'])
  await isListening(said)
})

test('the output of programs is not shown on the port', async () => {
  const { port, engine, world, said } = await worker(() => {})
  world.health('lb', 'down')
  await isListening(said)
  const stream = await listen(port, { 'last-event-id': '0' })
  engine.chronicle.record({
    ...{ kind: 'checkChanged', check: 'lb', from: 'up', to: 'down', reason: 'exitStatus', effects: [] },
    detail: 'password: geheim',
  })
  const events = () => get(port, '/v1/events')
  expect((await events()).body).toContain('"reason": "exitStatus"')
  expect((await events()).body).not.toContain('geheim')
  await eventually('the stream to tell it', () => stream.text().includes('exitStatus'), {
    sight: stream.text,
    within: 5_000,
  })
  expect(stream.text()).not.toContain('geheim')
  stream.close()
  const { body } = await get(port, '/v1/status')
  expect(JSON.parse(body)).toMatchObject({ healthchecks: [{ name: 'lb', last: { reason: 'connectionRefused' } }] })
  expect(JSON.stringify(world.daemon.snapshot()), 'there is something to keep back').toContain('ECONNREFUSED')
  expect(body).not.toContain('ECONNREFUSED')
})

test('many clients at the same time cost the engine few reports', async () => {
  const { port, said, engine } = await worker(() => {})
  await isListening(said)
  const startedAt = performance.now()
  const answers = await Promise.all(Array.from({ length: 20 }, () => get(port, '/v1/status')))
  expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200))
  expect(engine.reports).toBeLessThanOrEqual(2 + (performance.now() - startedAt) / 50)

  // A client that sends a thousand requests without waiting gets a hundred answers.
  const before = engine.reports
  const from = performance.now()
  const answered = await new Promise<string>((resolve) => {
    let all = ''
    const socket = connect(port, '127.0.0.1', () => {
      socket.write('GET /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(1_000))
    })
    socket.on('data', (chunk: Buffer) => {
      all += chunk.toString('latin1')
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(all))
  })
  expect(answered.match(/^HTTP\/1\.1 200/gm)?.length).toBeLessThanOrEqual(100)
  expect(engine.reports - before).toBeLessThanOrEqual(2 + (performance.now() - from) / 50)
})

test('connections above the limit are closed and counted', async () => {
  const { port, said } = await worker(() => {})
  await isListening(said)
  const sockets = Array.from({ length: MOST_CONNECTIONS + 8 }, () => connect(port, '127.0.0.1').on('error', () => {}))
  const closed = () => sockets.filter((socket) => socket.closed || socket.destroyed).length
  for (const socket of sockets) socket.on('end', () => socket.destroy())
  await eventually('8 closed connections', () => closed() === 8, { sight: closed, within: 3_000 })
  for (const socket of sockets) socket.destroy()
  const { body } = await eventually('room again', () => get(port, '/metrics').catch(() => undefined), {
    sight: () => '',
    within: 3_000,
  })
  // Clients that tried to connect too early count as well.
  expect(Number(/^holdfast_port_connections_refused_total (\d+)$/m.exec(body)?.[1])).toBeGreaterThanOrEqual(8)
})

test('every path reports an engine that does not answer, and its numbers are new afterwards', async () => {
  const { port, engine, said, world } = await worker(() => {})
  await isListening(said)
  const series = /^holdfast_vrrp_advertisements_received_total\{router="api"\} (\d+)$/m
  const received = async () => Number(series.exec((await get(port, '/metrics')).body)?.[1])
  expect(await received()).toBe(0)
  engine.frozen = true
  world.hear(200)
  const paths = ['/healthz', '/readyz', '/metrics', '/v1/status', '/v1/events']
  const silent = await Promise.all(paths.map((path) => get(port, path)))
  expect(silent).toEqual(paths.map(() => ({ status: 503, body: 'The engine has not answered for 1000 ms\n' })))
  engine.frozen = false
  expect((await get(port, '/healthz')).status).toBe(200)
  expect(await received(), 'not what it was before').toBe(1)
})

test('/readyz answers 200 if every router takes part in its election, otherwise it names the others', async () => {
  const { port, said, world } = await worker(() => {})
  await isListening(said)
  expect(await get(port, '/readyz')).toEqual({ status: 200, body: 'ok\n' })
  world.setLink(link(2, 'eth0', { running: false }))
  expect(await get(port, '/readyz')).toEqual({ status: 503, body: 'api: Initialize: linkDown\n' })
  world.setLink(link(2, 'eth0', {}))
  expect((await get(port, '/readyz')).status).toBe(200)
})

test("the exporter's metric names exist if they are configured, with the numbers of the dumps", async () => {
  const { port, said, world } = await worker(() => {}, 'keepalived-exporter')
  await isListening(said)
  world.hear(200)
  world.hear(0)
  world.health('lb', 'up')
  world.advance(4_000)
  const { body } = await get(port, '/metrics')
  const router = 'iname="api",intf="eth0",vrid="51"'
  const lines = body.split('\n')
  for (const line of [
    'keepalived_up 1',
    `keepalived_vrrp_state{${router},ip_address="${VIP}"} 2`,
    `keepalived_advertisements_received_total{${router}} 2`,
    `keepalived_become_master_total{${router}} 1`,
    `keepalived_priority_zero_received_total{${router}} 1`,
    'keepalived_script_status{name="lb"} 1',
    'keepalived_script_state{name="lb"} 0',
  ])
    expect(lines, body).toContain(line)
  const named = new Set([...body.matchAll(/^(keepalived_[a-z_]+)/gm)].map(([, name]) => name))
  expect([...named].sort()).toEqual(Object.keys(EXPORTER_METRICS).sort())
})

test('events come in pages by number, and in a stream that continues where its client stopped', async () => {
  const { port, engine, said } = await worker(() => {})
  await isListening(said)
  const record = (count: number) => {
    for (let i = 0; i < count; i++) engine.chronicle.record({ kind: 'stopOrdered', trigger: `test ${i}` })
  }
  const page = async (query: string) => {
    const { status, body } = await get(port, `/v1/events${query}`)
    return status === 200 ? eventPageSchema.parse(JSON.parse(body)) : body
  }
  const numbers = async (query: string) => {
    const found = await page(query)
    return typeof found === 'string' ? found : found.events.map(({ seq }) => seq)
  }
  record(250)
  expect(await numbers('?after=3&limit=2')).toEqual([4, 5])
  expect(await numbers('?limit=0'), 'none of them').toEqual([])
  expect(await numbers('?after=3&limit=0')).toEqual([])
  expect(await page('?limit=0'), 'but where they are').toMatchObject({ oldest: 1, latest: 250 })
  expect(await numbers(''), 'the last ones').toEqual(Array.from({ length: 100 }, (_, i) => 151 + i))
  expect(await numbers('?after=0&limit=1000'), 'a page has at most 100').toHaveLength(100)
  for (const wrong of ['?after=x', '?after=-1', '?limit=1e3']) expect(await page(wrong)).toMatch(/^\w+: cannot use /)

  const stream = await listen(port, { 'last-event-id': '20' })
  const heard = () => [...stream.text().matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))
  await eventually('what was missed', () => heard().length === 230, { sight: heard, within: 5_000 })
  record(2)
  await eventually('what happens now', () => heard().length === 232, { sight: heard, within: 5_000 })
  expect(heard(), 'each once, in order').toEqual(Array.from({ length: 232 }, (_, i) => 21 + i))
  expect(stream.text()).toContain('"kind":"stopOrdered","trigger":"test 1"}')
  const fresh = await listen(port, {})
  await eventually('a second listener to be heard of', () => fresh.text().startsWith('retry'), {
    sight: fresh.text,
    within: 5_000,
  })
  await sleep(100)
  record(1)
  await eventually('both to hear it', () => fresh.text().includes('id: 253'), { sight: fresh.text, within: 5_000 })
  expect(fresh.text().match(/^id: /gm), 'nothing from before').toHaveLength(1)
  stream.close()
  fresh.close()
  const listener = await listen(port, { 'last-event-id': '9000' })
  const first = () => /^id: (\d+)$/m.exec(listener.text())?.[1]
  await eventually('who has heard another journal to begin anew', () => first() === '1', {
    sight: first,
    within: 5_000,
  })
  listener.close()
  const followed = () => said.flatMap((message) => (message.kind === 'eventsFollowed' ? [message.followed] : []))
  await eventually('the engine to be left in peace', () => followed().at(-1) === false, {
    sight: followed,
    within: 5_000,
  })
})

test('a shared answer has one request at a time and a pause, and an error goes only to its own callers', async () => {
  let asked = 0
  const ask = sharedAnswer(
    async () => {
      asked++
      await sleep(5)
      if (asked === 2) throw new Error('silent')
      return asked
    },
    { atLeast: 40, atMost: 40 },
  )
  expect(await Promise.all([ask(), ask(), ask()])).toEqual([1, 1, 1])
  const from = performance.now()
  await expect(ask()).rejects.toThrow('silent')
  expect(performance.now() - from).toBeGreaterThan(30)
  expect(await ask()).toBe(3)
})

test('a slow answer delays the next request by nine times its duration, up to a limit', async () => {
  const waits: number[] = []
  let answeredAt = 0
  const ask = sharedAnswer(
    async () => {
      if (answeredAt > 0) waits.push(performance.now() - answeredAt)
      await sleep(waits.length === 0 ? 20 : 100)
      answeredAt = performance.now()
    },
    { atLeast: 0, atMost: 300 },
  )
  for (let i = 0; i < 3; i++) await ask()
  const [afterShort = 0, afterLong = 0] = waits
  expect(afterShort, 'after 20 ms').toBeGreaterThan(170)
  expect(afterLong, 'after 100 ms: 300 instead of 900').toBeGreaterThan(290)
  expect(afterLong).toBeLessThan(850)
})

/** Sends a request line and a Host header unchanged over a socket, and returns the status of the answer. */
function rawly(port: number, line: string, headers = ''): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(`${line}\r\n${headers}Connection: close\r\n\r\n`))
    let answer = ''
    socket.on('data', (chunk) => {
      answer += chunk
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(Number(answer.split(' ')[1])))
  })
}

const NAMES: readonly (readonly [string, number])[] = [
  ['127.0.0.1', 200],
  ['127.0.0.1:9655', 200],
  ['[::1]:9655', 200],
  ['10.77.0.11', 200],
  ['localhost', 200],
  ['LocalHost:80', 200],
  ['localhost.', 200],
  [hostname(), 200],
  [`${hostname().toUpperCase()}:9655`, 200],
  ['rebound.example', 421],
  ['localhost.rebound.example:9655', 421],
  ['127.0.0.1.rebound.example', 421],
  ['', 421],
]

test('a port on loopback accepts only host names that no foreign page can have', async () => {
  const { port, said } = await worker(() => {})
  await isListening(said)
  for (const [host, status] of NAMES)
    expect(await rawly(port, 'GET /healthz HTTP/1.1', `Host: ${host}\r\n`), host).toBe(status)
  for (const path of ['/', '/metrics', '/v1/status', '/v1/events', '/page/main.js', '/nothing'])
    expect(await rawly(port, `GET ${path} HTTP/1.1`, 'Host: rebound.example\r\n'), path).toBe(421)
  expect(await rawly(port, 'GET /healthz HTTP/1.0'), 'no browser').toBe(200)
})

test('a public port accepts any host name', async () => {
  const { port, said } = await worker(() => {}, 'none', true)
  await isListening(said)
  expect(await rawly(port, 'GET /healthz HTTP/1.1', 'Host: node1.example\r\n')).toBe(200)
})

test('in absolute-form (RFC 9112 §3.2.2), the authority replaces Host, and path and query follow it', async () => {
  const { port, said } = await worker(() => {})
  await isListening(said)
  const ask = (target: string, host = '127.0.0.1') => rawly(port, `GET ${target} HTTP/1.1`, `Host: ${host}\r\n`)
  expect(await ask('http://127.0.0.1:9655/healthz')).toBe(200)
  expect(await ask('HTTP://localhost/v1/events?limit=1')).toBe(200)
  expect(await ask('http://localhost/v1/events?limit=x'), 'its query is read').toBe(400)
  expect(await ask('http://localhost'), 'the page').toBe(await ask('/'))
  expect(await ask('http://localhost?x'), 'the page').toBe(await ask('/'))
  expect(await ask('http://localhost/nothing')).toBe(404)
  expect(await ask('http://localhost/healthz', 'rebound.example')).toBe(200)
  expect(await ask('http://rebound.example/healthz')).toBe(421)
})
