/**
 * The HTTP that both doors share: the unix socket beside the engine (control and status) and the TCP port in the
 * worker (read-only). Bounded in time, size and connections. Where an answer comes from is the caller's business; an
 * engine that does not answer is said to be dead instead of being quoted.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'

export type Reply = { readonly status: number; readonly contentType: string; readonly body: string }
export type Handler = () => Promise<Reply> | Reply
/** By path; only GET and HEAD are answered. */
export type Routes = Readonly<Record<string, Handler>>

export const text = (status: number, body: string): Reply => ({
  status,
  contentType: 'text/plain; charset=utf-8',
  body: `${body}\n`,
})
export const json = (value: unknown): Reply => ({
  status: 200,
  contentType: 'application/json',
  body: `${JSON.stringify(value, undefined, 2)}\n`,
})

const MOST_CONNECTIONS = 64
const REQUEST_TIMEOUT = 5_000

export function createApi(routes: Routes): Server {
  const server = createServer(
    { requestTimeout: REQUEST_TIMEOUT, headersTimeout: REQUEST_TIMEOUT },
    (request, response) => {
      void answer(routes, request, response)
    },
  )
  server.maxConnections = MOST_CONNECTIONS
  server.keepAliveTimeout = REQUEST_TIMEOUT
  return server
}

async function answer(routes: Routes, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const reply = await replyTo(routes, request)
  response.writeHead(reply.status, {
    'content-type': reply.contentType,
    'content-length': Buffer.byteLength(reply.body),
    'cache-control': 'no-store',
    ...(reply.status === 405 ? { allow: 'GET, HEAD' } : {}),
  })
  response.end(request.method === 'HEAD' ? undefined : reply.body)
}

async function replyTo(routes: Routes, { method, url }: IncomingMessage): Promise<Reply> {
  if (method !== 'GET' && method !== 'HEAD') return text(405, 'Only GET and HEAD are answered here')
  const path = (url ?? '/').split('?', 1)[0] ?? '/'
  const handler = Object.hasOwn(routes, path) ? routes[path] : undefined
  if (handler === undefined) return text(404, `Nothing is here; try ${Object.keys(routes).join(', ')}`)
  try {
    return await handler()
  } catch (error) {
    return text(503, error instanceof Error ? error.message : String(error))
  }
}
