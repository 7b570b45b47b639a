/** Streams of server-sent events: what a client receives, the limit of clients, and the disconnection of a client that does not read. */
import { mkdtempSync, rmSync } from 'node:fs'
import { type IncomingMessage, request, type Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type EventStream, MOST_STREAMS, type StreamClient } from '../../../src/http/event-stream.ts'
import { type Asked, createApi, text } from '../../../src/http/server.ts'
import { eventually } from '../../../src/lab/wait.ts'

let directory = ''
let path = ''
let server: Server
let clients: Set<StreamClient>
let asked: Asked[]
let waiting: (() => void)[]
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'hf-stream-'))
  path = join(directory, 'api.sock')
  clients = new Set()
  asked = []
  waiting = []
  const stream: EventStream = {
    listen: (client) => {
      clients.add(client)
      return () => clients.delete(client)
    },
  }
  server = createApi({
    '/events': (question) => {
      asked.push(question)
      return stream
    },
    '/plain': () => text(200, 'ok'),
    '/slow': async () => {
      await new Promise<void>((resolve) => waiting.push(resolve))
      return stream
    },
  })
  await new Promise<void>((resolve) => server.listen(path, resolve))
})
afterEach(() => {
  server.closeAllConnections()
  server.close()
  rmSync(directory, { recursive: true, force: true })
})

const connections = () => new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count)))

const heard = new WeakMap<IncomingMessage, string>()
function open(question = '/events', method = 'GET', headers = {}): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath: path, path: question, method, headers, agent: false }, (response) => {
      heard.set(response, '')
      response.setEncoding('utf8')
      response.on('error', () => {})
      response.on('data', (chunk: string) => heard.set(response, heard.get(response) + chunk))
      resolve(response)
    })
    sent.on('error', reject)
    sent.end()
  })
}
const hears = (response: IncomingMessage, words: string) =>
  eventually(`the client to hear ${words}`, () => heard.get(response)?.includes(words), {
    sight: () => heard.get(response),
    within: 2_000,
  })
const listeners = (count: number) =>
  eventually(`${count} listeners`, () => clients.size === count, { sight: () => clients.size, within: 5_000 })

test('a client receives each event with its number and is removed when it disconnects', async () => {
  const response = await open('/events?after=3&x=%20y', 'GET', { 'last-event-id': '17' })
  expect([response.statusCode, response.headers['content-type']]).toEqual([200, 'text/event-stream'])
  expect([asked[0]?.query.get('after'), asked[0]?.query.get('x')], 'the query').toEqual(['3', ' y'])
  expect(asked[0]?.headers['last-event-id']).toBe('17')
  await listeners(1)
  for (const client of clients) client.tell({ id: 18, data: { text: 'two\nlines' } })
  await hears(response, 'id: 18\ndata: {"text":"two\\nlines"}\n\n')
  expect(heard.get(response), 'beginning of the stream, with the wait before a reconnection').toMatch(/^retry: \d+\n\n/)
  response.destroy()
  await listeners(0)
})

test('a stream that the server ends is closed at the client', async () => {
  const response = await open()
  const ended = new Promise((resolve) => response.once('end', resolve))
  for (const client of clients) client.end()
  await ended
  await listeners(0)
})

test('events after the end or after a disconnect are dropped', async () => {
  const response = await open()
  const [client] = clients
  client?.end()
  client?.tell({ id: 1, data: 'too late' })
  await listeners(0)
  client?.tell({ id: 2, data: 'too late' })
  client?.end()
  expect(heard.get(response)).not.toContain('too late')
})

test('a client that disconnects before the answer takes no slot', async () => {
  for (let i = 0; i < MOST_STREAMS; i++) {
    const sent = request({ socketPath: path, path: '/slow', agent: false }).on('error', () => {})
    sent.end()
    await eventually('the question to come in', () => waiting.length === i + 1, {
      sight: () => waiting.length,
      within: 2_000,
    })
    sent.destroy()
  }
  await eventually('all of them to be gone', async () => (await connections()) === 0, {
    sight: connections,
    within: 5_000,
  })
  for (const answer of waiting) answer()
  await new Promise((resolve) => setImmediate(resolve))
  expect(clients.size).toBe(0)
  expect((await open()).statusCode, 'status for the first client that stays').toBe(200)
})

test('HEAD opens no stream', async () => {
  const response = await open('/events', 'HEAD')
  expect([response.statusCode, response.headers['content-type']]).toEqual([200, 'text/event-stream'])
  expect(clients.size).toBe(0)
})

test('a client above the limit is refused, and requests are still answered', async () => {
  const open8 = await Promise.all(Array.from({ length: MOST_STREAMS }, () => open()))
  expect(clients.size).toBe(MOST_STREAMS)
  expect((await open()).statusCode, 'status for a client above the limit').toBe(503)
  expect((await open('/plain')).statusCode).toBe(200)
  open8[0]?.destroy()
  await listeners(MOST_STREAMS - 1)
  expect((await open()).statusCode, 'status after another client has disconnected').toBe(200)
})

test('a client that does not read is disconnected', async () => {
  const mute: Socket = connect(path, () => mute.write('GET /events HTTP/1.1\r\nHost: x\r\n\r\n'))
  mute.on('error', () => {})
  mute.pause()
  await listeners(1)
  const [client] = clients
  let told = 0
  await eventually(
    'the one who does not read to be cut off',
    () => {
      if (clients.size === 0) return true
      client?.tell({ id: ++told, data: 'x'.repeat(100_000) })
      return false
    },
    { sight: () => told, within: 5_000 },
  )
  expect(told, 'events of 100 kB that were sent: the kernel buffer and 1 MiB').toBeLessThan(60)
  mute.destroy()
})
