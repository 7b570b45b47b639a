/**
 * The HTTP that both doors share: the unix socket beside the engine (control and status) and the TCP port in the
 * worker (read-only: it is given no commands). Decided here: the bounds in time, size, connections and requests, which
 * are those of one operator and one Prometheus (docs/adr/0019). Where an answer comes from, what a command does and who
 * is refused is the caller's business; an engine that does not answer is said to be dead instead of being quoted.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export type Reply = { readonly status: number; readonly contentType: string; readonly body: string }
export type Handler = () => Promise<Reply> | Reply
/** By path; answered to GET and HEAD. */
export type Routes = Readonly<Record<string, Handler>>
/** Takes the body. */
export type Command = (body: string) => Promise<Reply> | Reply
/** By path; answered to POST. */
export type Commands = Readonly<Record<string, Command>>

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

/** Why the client of this connection gets no answer but these words. */
export type Refusal = (socket: Socket) => string | undefined

export const MOST_CONNECTIONS = 32
/** For a whole request to come in. */
const REQUEST_TIMEOUT = 5_000
/** Node looks for late ones that often; by default it takes 30 s. */
const LOOK_FOR_LATE = 1_000
/** Longer than the longest command: then the client does not read. */
const IDLE_TIMEOUT = 30_000
const LARGEST_HEADER = 8_192
/** Of one connection, also those that it sends without waiting for an answer. */
const MOST_REQUESTS = 100
/** A command is a few words. */
const LARGEST_BODY = 4_096
/** 255 routers with all their strangers and transitions take a quarter of it. */
const LARGEST_REPLY = 8 << 20

export function createApi(routes: Routes, commands: Commands = {}, refusal: Refusal = () => undefined): Server {
  const server = createServer(
    {
      requestTimeout: REQUEST_TIMEOUT,
      headersTimeout: REQUEST_TIMEOUT,
      connectionsCheckingInterval: LOOK_FOR_LATE,
      maxHeaderSize: LARGEST_HEADER,
    },
    (request, response) => {
      const refused = refusal(request.socket)
      if (refused === undefined) void answer(replyTo(routes, commands, request), request, response)
      else void answer(Promise.resolve(text(403, refused)), request, response)
    },
  )
  server.maxConnections = MOST_CONNECTIONS
  server.maxRequestsPerSocket = MOST_REQUESTS
  server.keepAliveTimeout = REQUEST_TIMEOUT
  server.timeout = IDLE_TIMEOUT
  return server
}

type Answer = Reply & { readonly allow?: string }

async function answer(awaited: Promise<Answer>, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { allow, ...reply } = bounded(await awaited)
  // The rest of a body that nobody wants to read must not be taken for the next request.
  const isDone = request.complete || request.method === 'GET' || request.method === 'HEAD'
  response.writeHead(reply.status, {
    'content-type': reply.contentType,
    'content-length': Buffer.byteLength(reply.body),
    'cache-control': 'no-store',
    ...(isDone ? {} : { connection: 'close' }),
    ...(allow === undefined ? {} : { allow }),
  })
  response.end(request.method === 'HEAD' ? undefined : reply.body)
}

function bounded(answer: Answer): Answer {
  const { length } = answer.body
  return length <= LARGEST_REPLY ? answer : text(500, `The answer has more than ${LARGEST_REPLY} characters: ${length}`)
}

async function replyTo(routes: Routes, commands: Commands, request: IncomingMessage): Promise<Answer> {
  const path = (request.url ?? '/').split('?', 1)[0] ?? '/'
  const handler = Object.hasOwn(routes, path) ? routes[path] : undefined
  const command = Object.hasOwn(commands, path) ? commands[path] : undefined
  const reads = request.method === 'GET' || request.method === 'HEAD'
  try {
    if (reads && handler !== undefined) return await handler()
    if (request.method === 'POST' && command !== undefined) {
      const body = await bodyOf(request)
      return body === undefined ? text(413, `More than ${LARGEST_BODY} octets are no command`) : await command(body)
    }
  } catch (error) {
    return text(503, error instanceof Error ? error.message : String(error))
  }
  if (command !== undefined) return { ...text(405, 'Only POST is answered here'), allow: 'POST' }
  if (handler !== undefined || !reads)
    return { ...text(405, 'Only GET and HEAD are answered here'), allow: 'GET, HEAD' }
  return text(404, `Nothing is here; try ${[...Object.keys(routes), ...Object.keys(commands)].join(', ')}`)
}

/** Undefined: it is longer than any command. Rejects when the client goes away. */
function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    // What comes after the limit is read and dropped, within the time of a request: a reply must find an open socket.
    request.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length > LARGEST_BODY) resolve(undefined)
      else chunks.push(chunk)
    })
    request.once('end', () => resolve(Buffer.concat(chunks).toString('utf8')))
    request.once('error', reject)
    request.once('close', () => reject(new Error('the client is gone')))
  })
}
