/**
 * Imitates the Kubernetes API for tests: list and watch (resume, bookmarks, 410 Gone), get, create, update, delete and
 * server-side apply. A test can order every fault, and each request is recorded. The server runs in the test's own
 * process on a unix socket; port.mjs gives it an address in a network namespace. The tokens of the server decide which
 * clients are allowed. This file decides that objects are not validated.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, type ServerOptions } from 'node:https'
import type { AddressInfo, Server, Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { parse } from 'yaml'
import { monotonicMs } from '../../../src/lab/wait.ts'
import { type ResourceAddress, resourceAddress, selects } from './address.ts'
import { applied, type Owners } from './apply.ts'
import { type Fault, type FaultOrder, Faults, type Verb } from './fault.ts'
import { type Change, type KubeObject, Store } from './store.ts'
import { OpenWatch } from './watch.ts'

export type LoggedRequest = {
  readonly at: number
  readonly verb: Verb
  readonly method: string
  /** Path of the request, without the query. */
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  /**
   * Token of the request, or the common name (`CN`) of the client's certificate; `undefined` if the request has
   * neither.
   */
  readonly user: string | undefined
  readonly contentType: string | undefined
  readonly body: unknown
  /** HTTP status of the answer; 0 if there was no answer. */
  status: number
}

export type KubeApiOptions = {
  /** Options of the HTTPS server; if absent, the server uses HTTP. */
  readonly tls?: ServerOptions
  /** Tokens that the server accepts; absent: every client is accepted. */
  readonly tokens?: readonly string[]
  /**
   * Returns the status that refuses a request, such as 403; `undefined` to allow the request. The function is called after the
   * token was accepted.
   */
  readonly authorize?: (request: Omit<LoggedRequest, 'status'>) => number | undefined
  /** Kinds (such as `Node`) of those collections whose kind cannot be derived from the collection's name. */
  readonly kinds?: Readonly<Record<string, string>>
  /** Milliseconds between two bookmarks on an open watch; absent: the test itself sends each bookmark. */
  readonly bookmarksEvery?: number
}

const KINDS: Readonly<Record<string, string>> = {
  'v1/nodes': 'Node',
  'v1/configmaps': 'ConfigMap',
  'v1/events': 'Event',
  'events.k8s.io/v1/events': 'Event',
}
const REASONS: Readonly<Record<number, string>> = {
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'Expired',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
}

type Asked = Omit<LoggedRequest, 'status'> & { readonly url: URL; readonly text: string }

export class KubeApi {
  readonly store = new Store()
  readonly requests: LoggedRequest[] = []
  readonly faults = new Faults()
  readonly watches = new Set<OpenWatch>()
  /** Tokens that the server accepts, which a test may replace; `undefined`: every client is accepted. */
  tokens: ReadonlySet<string> | undefined
  readonly #options: KubeApiOptions
  readonly #owners = new Map<string, Owners>()
  readonly #sockets = new Set<Socket>()
  #server: Server | undefined
  #where: { path: string } | { port: number; host: string } | undefined
  #generated = 0

  constructor(options: KubeApiOptions = {}) {
    this.#options = options
    this.tokens = options.tokens === undefined ? undefined : new Set(options.tokens)
  }

  /**
   * Starts to listen on a unix socket or a TCP port (0: any free port). After stop(), the server listens at the same
   * address again.
   */
  async start(where = this.#where ?? { port: 0, host: '127.0.0.1' }): Promise<this> {
    const answer: RequestListener = (request, response) => void this.#answer(request, response)
    const server = this.#options.tls === undefined ? createServer(answer) : createTlsServer(this.#options.tls, answer)
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket)
      socket.on('error', () => {})
      socket.once('close', () => this.#sockets.delete(socket))
    })
    server.listen(where)
    await once(server, 'listening')
    this.#server = server
    this.#where = 'path' in where ? where : { ...where, port: (server.address() as AddressInfo).port }
    return this
  }

  get port(): number {
    if (this.#where === undefined || !('port' in this.#where)) throw new Error('The stand-in listens on no port')
    return this.#where.port
  }

  /** Resets every connection and stops to listen, as the death of an API server would. The stored objects stay. */
  async stop(): Promise<void> {
    const server = this.#server
    if (server === undefined) return
    this.#server = undefined
    const closed = once(server, 'close')
    server.close()
    // A unix socket cannot be reset.
    const isPath = this.#where !== undefined && 'path' in this.#where
    for (const socket of this.#sockets) isPath ? socket.destroy() : socket.resetAndDestroy()
    await closed
  }

  fail(verb: FaultOrder['verb'], fault: Fault, times?: number): () => void {
    return this.faults.add({ verb, fault, ...(times === undefined ? {} : { times }) })
  }

  /** Returns the recorded requests with this verb whose path begins with `path`. */
  asked(verb: Verb, path = '/'): LoggedRequest[] {
    return this.requests.filter((request) => request.verb === verb && request.path.startsWith(path))
  }

  /** Returns the fields that each manager owns in the object, only `.status` and the fields below it. */
  ownersOf(collection: string, name: string, namespace = ''): Owners {
    return this.#owners.get(`${collection}/${namespace}/${name}`) ?? new Map()
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    request.on('error', () => {})
    response.on('error', () => {})
    try {
      for await (const chunk of request) chunks.push(chunk)
    } catch {
      return
    }
    const url = new URL(request.url ?? '/', 'http://api')
    const address = resourceAddress(url.pathname)
    const text = Buffer.concat(chunks).toString('utf8')
    const method = request.method ?? 'GET'
    const logged: LoggedRequest = {
      at: monotonicMs(),
      verb: verbOf(method, url, address),
      method,
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      user: userOf(request),
      contentType: request.headers['content-type'],
      body: text === '' ? undefined : bodyOf(text),
      status: 0,
    }
    this.requests.push(logged)
    response.once('finish', () => {
      logged.status = response.statusCode
    })
    const fault = this.faults.take(logged.verb)
    if (fault?.kind === 'silence') return
    if (fault?.kind === 'late') await new Promise((resolve) => setTimeout(resolve, fault.ms))
    else if (fault !== undefined) return misbehave(fault, response)
    const refusal = this.#refusal(logged)
    if (refusal !== undefined) return sendStatus(response, refusal)
    if (address === undefined) return this.#plain(url.pathname, response)
    const asked = { ...logged, url, text }
    if (logged.verb === 'watch') {
      // The answer has begun, and ends with the watch.
      logged.status = this.#watch(asked, address, response)
      return
    }
    this.#object(asked, address, response)
  }

  #refusal(request: LoggedRequest): number | undefined {
    if (this.tokens !== undefined && (request.user === undefined || !this.tokens.has(request.user))) return 401
    return this.#options.authorize?.(request)
  }

  #plain(path: string, response: ServerResponse): void {
    if (['/readyz', '/healthz', '/livez'].includes(path)) response.end('ok')
    else if (path === '/version') sendJson(response, 200, { major: '1', minor: '30', gitVersion: 'v1.30.0' })
    else sendStatus(response, 404)
  }

  #kindOf({ collection }: ResourceAddress): string {
    return this.#options.kinds?.[collection] ?? KINDS[collection] ?? 'Object'
  }

  #object(asked: Asked, address: ResourceAddress, response: ServerResponse): void {
    const { collection, namespace, name, apiVersion } = address
    if (asked.verb === 'list') {
      const items = this.store.list(collection, namespace).filter((object) => isSelected(object, asked.url))
      const metadata = { resourceVersion: String(this.store.version) }
      return sendJson(response, 200, { kind: `${this.#kindOf(address)}List`, apiVersion, metadata, items })
    }
    if (asked.verb === 'create') {
      const object = asked.body as KubeObject
      const generated = `${String(object.metadata?.generateName ?? '')}${(++this.#generated).toString(36).padStart(5, '0')}`
      const metadata = { ...object.metadata, name: object.metadata?.name ?? generated, ...named(namespace) }
      if (this.store.get(collection, metadata.name, namespace) !== undefined) return sendStatus(response, 409)
      return sendJson(response, 201, this.store.put(collection, { ...object, metadata }))
    }
    if (name === undefined) return sendStatus(response, 404)
    const there = this.store.get(collection, name, namespace)
    if (asked.verb === 'apply') return this.#apply(asked, address, name, there, response)
    if (there === undefined) return sendStatus(response, 404)
    if (asked.verb === 'get') return sendJson(response, 200, there)
    if (asked.verb === 'update') {
      const object = asked.body as KubeObject
      if (![undefined, there.metadata.resourceVersion].includes(object.metadata.resourceVersion))
        return sendStatus(response, 409)
      const next = address.subresource === 'status' ? { ...there, status: object.status } : object
      return sendJson(response, 200, this.store.put(collection, next))
    }
    if (asked.verb === 'delete') {
      this.store.remove(collection, name, namespace)
      return sendJson(response, 200, { kind: 'Status', apiVersion: 'v1', status: 'Success' })
    }
    sendStatus(response, 405)
  }

  /**
   * Applies an object. For the path `/status` only the status is applied, otherwise everything except the status. A
   * missing object is created.
   */
  #apply(
    asked: Asked,
    { collection, namespace, subresource }: ResourceAddress,
    name: string,
    there: KubeObject | undefined,
    response: ServerResponse,
  ): void {
    const manager = asked.query.fieldManager
    if (asked.contentType !== 'application/apply-patch+yaml') return sendStatus(response, 415)
    if (manager === undefined || manager === '')
      return sendStatus(response, 422, 'fieldManager is required for apply patch')
    const config = parse(asked.text)
    if (config?.metadata?.name !== name) return sendStatus(response, 422, 'metadata.name does not match')
    if (config.metadata.managedFields !== undefined)
      return sendStatus(response, 422, 'metadata.managedFields must be nil')
    const part = subresource === 'status' ? 'status' : 'spec'
    if (there === undefined && part === 'status') return sendStatus(response, 404)
    const key = `${collection}/${namespace ?? ''}/${name}`
    const before = { [part]: there?.[part] ?? {} } as Parameters<typeof applied>[0]
    const result = applied(before, this.#owners.get(key) ?? new Map(), {
      manager,
      config: { [part]: config[part] ?? {} },
      force: asked.query.force === 'true',
    })
    if ('conflicts' in result) {
      const words = result.conflicts.map(({ manager: other, field }) => `conflict with "${other}": ${field}`)
      return sendStatus(response, 409, words.join(', '))
    }
    this.#owners.set(key, result.owners)
    const managedFields = [...result.owners.keys()].map((each) => ({
      ...{ manager: each, operation: 'Apply', apiVersion: config.apiVersion, fieldsType: 'FieldsV1' },
      ...(part === 'status' ? { subresource: 'status' } : {}),
    }))
    const metadata = { ...(there?.metadata ?? config.metadata), ...named(namespace), managedFields }
    const { apiVersion, kind } = config
    const next = { apiVersion, kind, ...there, metadata, [part]: result.value[part] }
    sendJson(response, there === undefined ? 201 : 200, this.store.put(collection, next))
  }

  /** Starts a watch. Returns the HTTP status with which the answer begins. */
  #watch({ url, query }: Asked, address: ResourceAddress, response: ServerResponse): number {
    const { collection, namespace, apiVersion } = address
    const from = url.searchParams.get('resourceVersion')
    const fresh = from === null || from === '' || from === '0'
    const missed = fresh ? [] : this.store.since(collection, Number(from))
    if (missed === undefined) {
      sendStatus(response, 410, `too old resource version: ${from}`)
      return 410
    }
    const watch = new OpenWatch(response, url.pathname, fresh ? null : from, query.allowWatchBookmarks === 'true')
    response.writeHead(200, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' })
    response.flushHeaders()
    const wanted = (change: Change) =>
      change.collection === collection &&
      (namespace === undefined || change.object.metadata.namespace === namespace) &&
      isSelected(change.object, url)
    const tell = (change: Change) => wanted(change) && watch.send(change.type, change.object)
    if (fresh)
      for (const object of this.store.list(collection, namespace))
        if (isSelected(object, url)) watch.send('ADDED', object)
    for (const change of missed) tell(change)
    const forget = this.store.subscribe(tell)
    this.watches.add(watch)
    const seconds = Number(query.timeoutSeconds)
    const over = seconds > 0 ? setTimeout(() => watch.end(), seconds * 1_000) : undefined
    const every = this.#options.bookmarksEvery
    const mark = () => watch.bookmark(apiVersion, this.#kindOf(address), this.store.version)
    const marks = every === undefined ? undefined : setInterval(mark, every)
    response.once('close', () => {
      clearTimeout(over)
      clearInterval(marks)
      forget()
      this.watches.delete(watch)
    })
    return 200
  }
}

const named = (namespace: string | undefined) => (namespace === undefined ? {} : { namespace })

function verbOf(method: string, url: URL, address: ResourceAddress | undefined): Verb {
  if (address === undefined) return 'other'
  if (method === 'GET' && ['1', 'true'].includes(url.searchParams.get('watch') ?? '')) return 'watch'
  if (method === 'GET') return address.name === undefined ? 'list' : 'get'
  if (method === 'PATCH') return 'apply'
  return method === 'POST' ? 'create' : method === 'PUT' ? 'update' : method === 'DELETE' ? 'delete' : 'other'
}

function userOf(request: IncomingMessage): string | undefined {
  const token = /^Bearer (.*)$/.exec(request.headers.authorization ?? '')?.[1]
  if (token !== undefined || !(request.socket instanceof TLSSocket)) return token
  const { subject } = request.socket.getPeerCertificate()
  return subject === undefined ? undefined : String(subject.CN)
}

function bodyOf(text: string): unknown {
  try {
    return parse(text)
  } catch {
    return text
  }
}

const isSelected = ({ metadata }: KubeObject, url: URL): boolean =>
  selects(url.searchParams.get('labelSelector'), (key) => metadata.labels?.[key]) &&
  selects(url.searchParams.get('fieldSelector'), (key) =>
    key === 'metadata.name' ? metadata.name : key === 'metadata.namespace' ? metadata.namespace : undefined,
  )

function sendJson(response: ServerResponse, code: number, value: unknown): void {
  response.writeHead(code, { 'content-type': 'application/json' })
  response.end(JSON.stringify(value))
}

function sendStatus(response: ServerResponse, code: number, message = `${REASONS[code] ?? code}: told so`): void {
  sendJson(response, code, {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    reason: REASONS[code],
    code,
    message,
  })
}

function misbehave(fault: Exclude<Fault, { kind: 'silence' | 'late' }>, response: ServerResponse): void {
  switch (fault.kind) {
    case 'status':
      if (fault.retryAfter !== undefined) response.setHeader('retry-after', fault.retryAfter)
      return sendStatus(response, fault.code)
    case 'garbage':
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(fault.text ?? '{"kind":"NodeList","items":[{"metadata":\n<html>502</html>\n')
      return
    case 'wrong':
      return sendJson(response, 200, fault.json)
    case 'reset':
      response.socket?.resetAndDestroy()
      return
    case 'half':
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 10_000 })
      response.write('{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"1', () =>
        setTimeout(() => response.socket?.resetAndDestroy(), 20),
      )
  }
}
