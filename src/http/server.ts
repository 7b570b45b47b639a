/**
 * HTTP server of both listeners: the unix socket of the engine (control and status) and the TCP port in the worker
 * (read-only, without commands). This file decides limits of time, size, connections and requests, which fit an
 * operator and a Prometheus (docs/adr/0019). Answers, commands and permissions are decided by the caller. If the engine
 * does not answer, the server answers 503 instead of giving an old answer.
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
import { defined } from '../base/defined.ts'
import { messageOf } from '../base/message-of.ts'
import { EVENTS, type EventStream, EventStreams } from './event-stream.ts'
import { endLateRequests } from './late-request.ts'
import { targetOf } from './request-target.ts'

/** Path of the files of the status page. */
export const PAGE_PATH = '/page/'

export type Reply = {
  readonly status: number
  readonly contentType: string
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}
/** Query and headers of a request to the API. */
export type Asked = { readonly query: URLSearchParams; readonly headers: IncomingHttpHeaders }
export type Handler = (asked: Asked) => Promise<Reply | EventStream> | Reply | EventStream
/** Handlers by path, for GET and HEAD. */
export type Routes = Readonly<Record<string, Handler>>
/** Processes the body and the query of a POST. */
export type Command = (body: string, query: URLSearchParams) => Promise<Reply> | Reply
/** A command whose body may be large; `largest` in octets. */
export type LargeCommand = { readonly largest: number; readonly take: Command }
/** Commands by path, for POST. */
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

/** Returns the reply to a client without permission, `undefined` for other clients. */
export type Refusal = (request: IncomingMessage) => Reply | undefined

export const MOST_CONNECTIONS = 32
/** Milliseconds within which a request must be complete. */
const REQUEST_TIMEOUT = 5_000
/** Milliseconds after an answer within which the next request must begin. */
const KEEP_ALIVE = 5_000
/** The longest timer. This value disables Node's own check for late requests, which late-request.ts replaces. */
const NEVER = 2 ** 31 - 1
/** Milliseconds without traffic until a connection is closed. The longest command takes less. */
const IDLE_TIMEOUT = 30_000
const LARGEST_HEADER = 8_192
/** Limit of requests of one connection, also of those sent without waiting for answers. */
const MOST_REQUESTS = 100
/**
 * Milliseconds until a connection is closed. No scrape or command takes so long; a client must not keep a connection by
 * reading slowly.
 */
const LONGEST_CONNECTION = 60_000
/** Limit of a command's body in octets. */
const LARGEST_BODY = 4_096
/** Limit of a reply in octets. 255 routers with all their mismatched routers and transitions take a quarter of it. */
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
        if (streams.full) return give(text(503, 'too many event streams are open; try again later'), request, response)
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
  // The rest of an unread request body must not be parsed as the next request.
  const isDone = request.complete || request.method === 'GET' || request.method === 'HEAD'
  response.writeHead(reply.status, {
    'content-type': reply.contentType,
    'content-length': Buffer.byteLength(reply.body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...reply.headers,
    ...(isDone ? {} : { connection: 'close' }),
    ...defined({ allow }),
  })
  response.end(request.method === 'HEAD' ? undefined : reply.body)
}

function bounded(answer: Answer): Answer {
  const { length } = answer.body
  return length <= LARGEST_REPLY
    ? answer
    : text(500, `the answer is too long: ${length} characters, limit ${LARGEST_REPLY}`)
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
  if (command !== undefined) return { ...text(405, 'method not allowed; use POST'), allow: 'POST' }
  if (handler !== undefined || !reads)
    return { ...text(405, 'method not allowed; use GET or HEAD'), allow: 'GET, HEAD' }
  // Files of the status page are left out of the list.
  const worthTrying = [...Object.keys(routes), ...Object.keys(commands)].filter((known) => !known.startsWith(PAGE_PATH))
  return text(404, `not found; available: ${worthTrying.join(', ')}`)
}

async function carryOut(command: Command | LargeCommand, request: IncomingMessage, query: URLSearchParams) {
  const { largest, take } = typeof command === 'function' ? { largest: LARGEST_BODY, take: command } : command
  const body = await bodyOf(request, largest)
  if (body === undefined) return text(413, `the body is too long, limit ${largest} octets`)
  return isUtf8(body) ? await take(body.toString('utf8'), query) : text(400, 'the body is not UTF-8')
}

/** Returns the body of a request, `undefined` if it exceeds the limit. Rejects if the client closes the connection. */
function bodyOf(request: IncomingMessage, largest: number): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    // Octets after the limit are read and dropped until the request's timeout, because a reply needs an open socket.
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
