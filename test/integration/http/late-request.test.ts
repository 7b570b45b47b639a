/** Late requests over real sockets: a client that does not finish its request gets an answer with the reason and loses the connection. */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, expect, test } from 'vitest'
import { endLateRequests } from '../../../src/http/late-request.ts'
import { eventually, monotonicMs } from '../../../src/lab/wait.ts'

const WITHIN = 100
const IDLE = 150
const SOON = { within: 2_000 }
const directory = mkdtempSync(join(tmpdir(), 'holdfast-late-'))
let server: Server
let socket: Socket

afterEach(async () => {
  socket.destroy()
  await new Promise((resolve) => server.close(resolve))
})
afterAll(() => rmSync(directory, { recursive: true }))

/** Opens a connection to a server that answers a GET immediately and a POST after its body. */
async function connection() {
  server = createServer({ requestTimeout: 0, headersTimeout: 0 }, (request, response) => {
    if (request.method === 'GET') response.end('here')
    else request.once('end', () => response.end('taken')).resume()
  })
  endLateRequests(server, WITHIN, IDLE)
  const path = join(directory, 'sock')
  await new Promise<void>((resolve) => server.listen(path, resolve))
  const began = monotonicMs()
  let heard = ''
  socket = connect(path)
  socket.setEncoding('utf8').on('data', (text: string) => {
    heard += text
  })
  const ended = new Promise<{ heard: string; after: number }>((resolve) =>
    socket.once('end', () => resolve({ heard, after: monotonicMs() - began })),
  )
  return { say: (text: string) => void socket.write(text), heard: () => heard, ended }
}

test.each([
  ['nothing', ''],
  ['half a header', 'GET / HTTP/1.1\r\nHost: a\r\n'],
  ['half a body', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf'],
])('%s: 408 and the end, not before its time', async (_, words) => {
  const { say, ended } = await connection()
  say(words)
  const { heard, after } = await ended
  expect(heard).toMatch(/^HTTP\/1\.1 408 /)
  expect(after, 'ms until the late request is answered').toBeGreaterThanOrEqual(WITHIN - 2)
})

test('a complete body is answered, and the next request has its own deadline', async () => {
  const { say, heard, ended } = await connection()
  say('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody')
  await eventually('an answer', () => heard().endsWith('taken'), { sight: heard, ...SOON })
  say('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await eventually('a second one', () => heard().endsWith('here'), { sight: heard, ...SOON })
  const answeredAt = monotonicMs()
  say('GET / HT')
  const after = await ended
  expect(after.heard).toMatch(/here.*HTTP\/1\.1 408 /s)
  expect(monotonicMs() - answeredAt, 'ms from the answer to the end of the idle connection').toBeGreaterThanOrEqual(
    WITHIN + IDLE - 20,
  )
})
