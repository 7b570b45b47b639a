/** The worker without its thread: what it does when its privileges stay, and that no crowd of clients asks the engine often. */
import { request } from 'node:http'
import { connect, createServer } from 'node:net'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { afterEach, expect, test } from 'vitest'
import { MOST_CONNECTIONS } from '../../src/api/server.ts'
import { sharedAnswer } from '../../src/api/shared-answer.ts'
import { runWorker } from '../../src/api/worker.ts'
import type { WorkerMessage } from '../../src/api/worker-message.ts'
import type { OpenStream } from '../../src/healthcheck/stream.ts'
import { loadNative } from '../../src/linux/native.ts'
import { openStream } from '../../src/linux/stream.ts'
import { eventually, sleep } from '../support/wait.ts'
import { FakeWorld, ROUTER } from './fake-world.ts'

const channels: MessagePort[] = []
afterEach(() => {
  for (const port of channels.splice(0)) port.close()
})

/** Free a moment ago. */
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

async function worker(dropPrivileges: () => void) {
  const { port1, port2 } = new MessageChannel()
  channels.push(port1, port2)
  const world = new FakeWorld([ROUTER], { healthchecks: [{ name: 'lb', exec: ['/bin/false'] }] }).start()
  const said: WorkerMessage[] = []
  let snapshots = 0
  port1.on('message', (message: WorkerMessage) => {
    said.push(message)
    if (message.kind !== 'snapshotWanted') return
    snapshots++
    port1.postMessage({ kind: 'snapshot', id: message.id, snapshot: world.daemon.snapshot() })
  })
  const port = await freePort()
  const settings = { listen: { host: '127.0.0.1', port }, version: '1' }
  const native = loadNative()
  const { streamPair } = native
  const open: OpenStream = (...order) => openStream(native, ...order)
  runWorker({ engine: port2, settings, dropPrivileges, openStream: open, streamPair, watchEnd: () => undefined })
  port1.postMessage({ kind: 'serve' })
  return { port, engine: port1, world, said, snapshots: () => snapshots }
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

const isListening = (said: readonly WorkerMessage[]) =>
  eventually(
    'the port to be open',
    () => said.some(({ kind }) => kind === 'listening'),
    () => said,
    { within: 5_000 },
  )

test('privileges that stay: no port, the reason is told, files are read all the same', async () => {
  const { port, engine, world, said } = await worker(() => {
    throw new Error('capset: EPERM, operation not permitted')
  })
  await eventually(
    'the reason',
    () => said.some(({ kind }) => kind === 'failed'),
    () => said,
    { within: 5_000 },
  )
  expect(said).toEqual([
    {
      kind: 'failed',
      message: `Cannot open 127.0.0.1:${port}: the worker thread keeps its privileges: capset: EPERM, operation not permitted`,
    },
  ])
  await sleep(50)
  await expect(get(port, '/metrics')).rejects.toThrow('ECONNREFUSED')
  const order = { file: '/nowhere.yaml', node: world.daemon.nodeView(), inForce: world.daemon.config }
  engine.postMessage({ kind: 'parse', id: 3, order })
  const parsed = await eventually(
    'an answer',
    () => said.find(({ kind }) => kind === 'parsed'),
    () => said,
    {
      within: 10_000,
    },
  )
  expect(parsed).toMatchObject({ id: 3, fresh: { ok: false } })
})

test('the privileges go before the port is opened', async () => {
  const order: string[] = []
  const { said } = await worker(() => void order.push('dropped'))
  expect(order).toEqual(['dropped'])
  await isListening(said)
})

test('what a program has said is not for everybody who reaches the port', async () => {
  const { port, world, said } = await worker(() => {})
  world.health('lb', 'down')
  await isListening(said)
  const { body } = await get(port, '/v1/status')
  expect(JSON.parse(body)).toMatchObject({ healthchecks: [{ name: 'lb', last: { reason: 'connectionRefused' } }] })
  expect(JSON.stringify(world.daemon.snapshot()), 'there is something to keep back').toContain('ECONNREFUSED')
  expect(body).not.toContain('ECONNREFUSED')
})

test('many clients at once cost the engine few snapshots', async () => {
  const { port, said, snapshots } = await worker(() => {})
  await isListening(said)
  const startedAt = performance.now()
  const answers = await Promise.all(Array.from({ length: 20 }, () => get(port, '/v1/status')))
  expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200))
  expect(snapshots()).toBeLessThanOrEqual(2 + (performance.now() - startedAt) / 50)

  // And one client that sends a thousand requests without waiting gets a hundred answers.
  const before = snapshots()
  const from = performance.now()
  const answered = await new Promise<string>((resolve) => {
    let all = ''
    const socket = connect(port, '127.0.0.1', () => {
      socket.write('GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(1_000))
    })
    socket.on('data', (chunk: Buffer) => {
      all += chunk.toString('latin1')
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(all))
  })
  expect(answered.match(/^HTTP\/1\.1 200/gm)?.length).toBeLessThanOrEqual(100)
  expect(snapshots() - before).toBeLessThanOrEqual(2 + (performance.now() - from) / 50)
})

test('connections beyond the bound are closed and counted', async () => {
  const { port, said } = await worker(() => {})
  await isListening(said)
  const sockets = Array.from({ length: MOST_CONNECTIONS + 8 }, () => connect(port, '127.0.0.1').on('error', () => {}))
  const closed = () => sockets.filter((socket) => socket.closed || socket.destroyed).length
  for (const socket of sockets) socket.on('end', () => socket.destroy())
  await eventually('8 closed connections', () => closed() === 8, closed, { within: 3_000 })
  for (const socket of sockets) socket.destroy()
  const { body } = await eventually(
    'room again',
    () => get(port, '/metrics').catch(() => undefined),
    () => '',
    {
      within: 3_000,
    },
  )
  // The clients that looked for room too early count as well.
  expect(Number(/^holdfast_port_connections_refused_total (\d+)$/m.exec(body)?.[1])).toBeGreaterThanOrEqual(8)
})

test("a shared answer: one question at a time, the next one not before its time, an error is nobody else's", async () => {
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

test('an answer that takes long makes the next question wait nine times as long, up to a bound', async () => {
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
