/**
 * The HTTP that both doors share: the unix socket beside the engine (control and status) and the TCP port in the
 * worker (read-only: it is given no commands). Decided here: the bounds in time, size, connections and requests, which
 * are those of one operator and one Prometheus (docs/adr/0019). Where an answer comes from, what a command does and who
 * is refused is the caller's business; an engine that does not answer is said to be dead instead of being quoted.
 */

import { isUtf8 } from 'node:buffer'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { Socket } from 'node:net'
import { messageOf } from '../base/message-of.ts'
import { EVENTS, type EventStream, EventStreams } from './event-stream.ts'
import { endLateRequests } from './late-request.ts'
import { targetOf } from './request-target.ts'

/** Path of the parts of the status page. */
export const PAGE_PATH = '/page/'

export type Reply = {
  readonly status: number
  readonly contentType: string
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}
/** What a question says besides its path. */
export type Asked = { readonly query: URLSearchParams; readonly headers: IncomingHttpHeaders }
export type Handler = (asked: Asked) => Promise<Reply | EventStream> | Reply | EventStream
/** By path; answered to GET and HEAD. */
export type Routes = Readonly<Record<string, Handler>>
/** Takes the body, and what the question says besides. */
export type Command = (body: string, query: URLSearchParams) => Promise<Reply> | Reply
/** Of more octets than a few words have. */
export type LargeCommand = { readonly largest: number; readonly take: Command }
/** By path; answered to POST. */
export type Commands = Readonly<Record<string, Command | LargeCommand>>

export const text = (status: number, body: string): Reply => ({
  status,
  contentType: 'text/plain; charset=utf-8',
  body: `${body}\n`,
})
export const json = (value: unknown, status = 200): Reply => ({
  status,
  contentType: 'application/json',
  body: `${JSON.stringify(value, undefined, 2)}\n`,
})

/** What this client gets instead of an answer. */
export type Refusal = (request: IncomingMessage) => Reply | undefined

export const MOST_CONNECTIONS = 32
/** For a whole request to come in. */
const REQUEST_TIMEOUT = 5_000
/** From an answer on, for the next request to begin. */
const KEEP_ALIVE = 5_000
/** Node's own look for late ones, which late-request.ts does without: the longest that a timer takes. */
const NEVER = 2 ** 31 - 1
/** Longer than the longest command: then the client does not read. */
const IDLE_TIMEOUT = 30_000
const LARGEST_HEADER = 8_192
/** Of one connection, also those that it sends without waiting for an answer. */
const MOST_REQUESTS = 100
/** Longer than any scrape and any command: a client that reads one byte a second must not keep its connection. */
const LONGEST_CONNECTION = 60_000
/** A command is a few words. */
const LARGEST_BODY = 4_096
/** 255 routers with all their strangers and transitions take a quarter of it. */
const LARGEST_REPLY = 8 << 20

export function createApi(routes: Routes, commands: Commands = {}, refusal: Refusal = () => undefined): Server {
  const streams = new EventStreams()
  const server = createServer(
    {
      requestTimeout: 0,
      headersTimeout: 0,
      connectionsCheckingInterval: NEVER,
      maxHeaderSize: LARGEST_HEADER,
    },
    (request, response) => {
      const refused = refusal(request)
      const reply = refused === undefined ? replyTo(routes, commands, request) : Promise.resolve(refused)
      void reply.then((answer) => {
        if (!('listen' in answer)) return give(answer, request, response)
        if (request.method === 'HEAD') return give({ ...text(200, ''), contentType: EVENTS }, request, response)
        if (streams.full) return give(text(503, 'Too many listen already: ask again later'), request, response)
        listening.add(request.socket)
        streams.open(response, answer)
      })
    },
  )
  const listening = new WeakSet<Socket>()
  server.on('connection', (socket) => {
    const tooLong = setTimeout(() => {
      if (!listening.has(socket)) socket.destroy()
    }, LONGEST_CONNECTION)
    socket.once('close', () => clearTimeout(tooLong))
  })
  endLateRequests(server, REQUEST_TIMEOUT, KEEP_ALIVE)
  server.maxConnections = MOST_CONNECTIONS
  server.maxRequestsPerSocket = MOST_REQUESTS
  server.keepAliveTimeout = KEEP_ALIVE
  server.timeout = IDLE_TIMEOUT
  return server
}

type Answer = Reply & { readonly allow?: string }

function give(answer: Answer, request: IncomingMessage, response: ServerResponse): void {
  const { allow, ...reply } = bounded(answer)
  // The rest of a body that nobody wants to read must not be taken for the next request.
  const isDone = request.complete || request.method === 'GET' || request.method === 'HEAD'
  response.writeHead(reply.status, {
    'content-type': reply.contentType,
    'content-length': Buffer.byteLength(reply.body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...reply.headers,
    ...(isDone ? {} : { connection: 'close' }),
    ...(allow === undefined ? {} : { allow }),
  })
  response.end(request.method === 'HEAD' ? undefined : reply.body)
}

function bounded(answer: Answer): Answer {
  const { length } = answer.body
  return length <= LARGEST_REPLY ? answer : text(500, `The answer has more than ${LARGEST_REPLY} characters: ${length}`)
}

async function replyTo(routes: Routes, commands: Commands, request: IncomingMessage): Promise<Answer | EventStream> {
  const { path, query } = targetOf(request)
  const handler = Object.hasOwn(routes, path) ? routes[path] : undefined
  const command = Object.hasOwn(commands, path) ? commands[path] : undefined
  const reads = request.method === 'GET' || request.method === 'HEAD'
  try {
    if (reads && handler !== undefined) {
      return await handler({ query: new URLSearchParams(query), headers: request.headers })
    }
    if (request.method === 'POST' && command !== undefined) {
      return await carryOut(command, request, new URLSearchParams(query))
    }
  } catch (error) {
    return text(503, messageOf(error))
  }
  if (command !== undefined) return { ...text(405, 'Only POST is answered here'), allow: 'POST' }
  if (handler !== undefined || !reads)
    return { ...text(405, 'Only GET and HEAD are answered here'), allow: 'GET, HEAD' }
  // What others load is nothing that anybody asks for.
  const worthTrying = [...Object.keys(routes), ...Object.keys(commands)].filter((known) => !known.startsWith(PAGE_PATH))
  return text(404, `Nothing is here; try ${worthTrying.join(', ')}`)
}

async function carryOut(command: Command | LargeCommand, request: IncomingMessage, query: URLSearchParams) {
  const { largest, take } = typeof command === 'function' ? { largest: LARGEST_BODY, take: command } : command
  const body = await bodyOf(request, largest)
  if (body === undefined) return text(413, `More than ${largest} octets are no command`)
  return isUtf8(body) ? await take(body.toString('utf8'), query) : text(400, 'The body is not UTF-8')
}

/** Undefined: it has more octets than that. Rejects when the client goes away. */
function bodyOf(request: IncomingMessage, largest: number): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    // What comes after the limit is read and dropped, within the time of a request: a reply must find an open socket.
    request.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length <= largest) chunks.push(chunk)
      else {
        chunks.length = 0
        resolve(undefined)
      }
    })
    request.once('end', () => resolve(Buffer.concat(chunks)))
    request.once('error', reject)
    request.once('close', () => reject(new Error('the client is gone')))
  })
}
