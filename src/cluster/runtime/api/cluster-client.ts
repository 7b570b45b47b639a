/**
 * Sends requests to the API of the cluster, one connection each. This file decides the time limit and size limit of an
 * answer, and what counts as an answer. A request that fails at one address is sent to the next address, the node's own
 * API server. Addresses and credentials come from cluster-access.ts. The library's own requests ignore answers that are
 * not JSON, and have no time limit.
 */
import { type IncomingMessage, type RequestOptions, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { ApiFailure, failureOf, kindOfStatus } from './api-failure.ts'
import { LineReader } from './line-reader.ts'
import { onAddressLost } from './lost-address.ts'

export type Endpoint = {
  /** URL of the API server, such as `https://api-int.ostest.example.com:6443`, without a slash at the end. */
  readonly server: string
  /** Credentials, and the certificate authorities that are trusted. */
  readonly options: RequestOptions
}

/**
 * Returns the API servers. The function is called for each request and reads the files again. Rejects with ApiFailure.
 */
export type ClusterAccess = () => Promise<readonly Endpoint[]>

export type Question = {
  readonly path: string
  /** HTTP method of the request; absent: GET. */
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'PUT'
  /** Body of the request, sent as JSON; absent: no body. */
  readonly body?: unknown
  /** Content type of the body; absent: application/json. */
  readonly contentType?: string
}

export type Limits = {
  /** Time limit in milliseconds of a whole answer, and of the begin of a stream. */
  readonly within: number
  /** Milliseconds for which a stream may send nothing before it counts as broken. */
  readonly silence: number
}

export const DEFAULT_LIMITS: Limits = { within: 15_000, silence: 180_000 }
/** Size limit of an answer in octets; enough for two thousand nodes with all their images. */
const LARGEST_ANSWER = 128 * 1024 * 1024
/** Size limit of a line in octets. etcd stores no object of more than 1.5 MB. */
const LONGEST_LINE = 8 * 1024 * 1024
const LONGEST_RETRY = 60_000
/** Milliseconds between TCP keep-alive probes. The probes detect a server whose address moved to another node. */
const KEEP_ALIVE = 10_000

type Watching = {
  readonly onLine: (line: string) => void
  /** Called when the server has accepted the watch; events follow. */
  readonly onOpen: () => void
  readonly signal: AbortSignal
}

export class ClusterClient {
  readonly #access: ClusterAccess
  readonly #limits: Limits
  /** Called after each failed attempt, even if another attempt follows. */
  readonly #onFailure: (failure: ApiFailure, server: string) => void

  constructor(
    access: ClusterAccess,
    limits: Partial<Limits> = {},
    onFailure: (failure: ApiFailure, server: string) => void = () => {},
  ) {
    this.#access = access
    this.#limits = { ...DEFAULT_LIMITS, ...limits }
    this.#onFailure = onFailure
  }

  /** Sends a request and returns the JSON of the answer. Rejects with the ApiFailure of the first server. */
  ask(question: Question, signal?: AbortSignal): Promise<unknown> {
    return this.#anywhere(async (endpoint) => {
      const response = await this.#send(endpoint, question, signal)
      const text = await textOf(response, question, this.#limits.within)
      if (response.statusCode === undefined || response.statusCode >= 300) throw refusal(response, text, question)
      return jsonOf(text, question)
    }, signal)
  }

  /** Calls `onLine` for each line of the answer. Resolves when the server ends the stream; rejects with ApiFailure. */
  stream(path: string, watching: Watching): Promise<void> {
    let isOpen = false
    const onOpen = () => {
      isOpen = true
      watching.onOpen()
    }
    return this.#anywhere(
      async (endpoint) => {
        const response = await this.#send(endpoint, { path }, watching.signal)
        if (response.statusCode !== 200)
          throw refusal(response, await textOf(response, { path }, this.#limits.within), { path })
        onOpen()
        await this.#lines(response, path, watching.onLine)
      },
      watching.signal,
      // A stream that has delivered lines is not repeated at another server.
      () => isOpen,
    )
  }

  async #anywhere<T>(
    attempt: (endpoint: Endpoint) => Promise<T>,
    signal?: AbortSignal,
    isFinal: () => boolean = () => false,
  ): Promise<T> {
    let first: ApiFailure | undefined
    for (const endpoint of await this.#access()) {
      try {
        return await attempt(endpoint)
      } catch (error) {
        const failure = failureOf(error, `ask ${endpoint.server}`)
        first ??= failure
        if (signal?.aborted === true) break
        this.#onFailure(failure, endpoint.server)
        if (isFinal() || isAnswer(failure)) throw failure
      }
    }
    throw first ?? new ApiFailure('credentials', 'Cannot ask the API: no server is known')
  }

  #send({ server, options }: Endpoint, question: Question, signal?: AbortSignal): Promise<IncomingMessage> {
    const { path, method = 'GET', body, contentType = 'application/json' } = question
    const url = new URL(`${server}${path}`)
    const { within } = this.#limits
    const sent = body === undefined ? {} : { 'content-type': contentType }
    const headers = { accept: 'application/json', 'user-agent': 'holdfast-agent', ...options.headers, ...sent }
    return new Promise((resolve, reject) => {
      const send = url.protocol === 'http:' ? requestHttp : requestHttps
      const asked = send(url, { ...options, method, headers, agent: options.agent ?? false, signal }, (response) => {
        clearTimeout(late)
        resolve(response)
      })
      const late = setTimeout(
        () => asked.destroy(new ApiFailure('timeout', `Cannot ask ${server}: no answer in ${within} ms`)),
        within,
      )
      asked.on('socket', (socket) => socket.setKeepAlive(true, KEEP_ALIVE))
      asked.on('error', (error) => {
        clearTimeout(late)
        reject(failureOf(error, `ask ${server}`))
      })
      asked.end(body === undefined ? undefined : JSON.stringify(body))
    })
  }

  #lines(response: IncomingMessage, path: string, onLine: (line: string) => void): Promise<void> {
    const reader = new LineReader(LONGEST_LINE)
    const { silence } = this.#limits
    return new Promise((resolve, reject) => {
      const end = (failure?: ApiFailure) => {
        clearTimeout(watchdog)
        forget()
        response.destroy()
        if (failure === undefined) resolve()
        else reject(failure)
      }
      const bark = () => end(new ApiFailure('silent', `${path} sent nothing for ${silence} ms`))
      const watchdog = setTimeout(bark, silence)
      // A watch ends when its local address is lost, because its next event may be about the new address of this node.
      const forget = onAddressLost(response.socket, (own) =>
        end(new ApiFailure('cut', `${path} was connected from ${own}, which this machine no longer has`)),
      )
      response.on('data', (chunk: Buffer) => {
        watchdog.refresh()
        const lines = reader.take(chunk)
        if (lines === undefined) return end(new ApiFailure('garbage', `A line of ${path} is too long`))
        try {
          for (const line of lines) onLine(line)
        } catch (error) {
          end(failureOf(error, `watch ${path}`))
        }
      })
      response.on('error', (error) => end(failureOf(error, `watch ${path}`)))
      response.on('end', () =>
        end(reader.isInside ? new ApiFailure('cut', `${path} ended in the middle of a line`) : undefined),
      )
      response.on('close', () => end(new ApiFailure('cut', `the connection of ${path} was closed too early`)))
    })
  }
}

/**
 * Tells whether the failure is an answer of the cluster. After an answer of the cluster, another server would give the
 * same answer.
 */
const isAnswer = ({ kind }: ApiFailure): boolean => kind === 'gone' || kind === 'refused'

function textOf(response: IncomingMessage, { path }: Question, within: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    const end = (failure: ApiFailure) => {
      clearTimeout(late)
      response.destroy()
      reject(failure)
    }
    const late = setTimeout(
      () => end(new ApiFailure('timeout', `Cannot read ${path}: the answer was not complete after ${within} ms`)),
      within,
    )
    response.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      length += chunk.length
      if (length > LARGEST_ANSWER) end(new ApiFailure('garbage', `Cannot read ${path}: the answer is too large`))
    })
    response.on('error', (error) => end(failureOf(error, `read ${path}`)))
    response.on('end', () => {
      clearTimeout(late)
      resolve(Buffer.concat(chunks).toString('utf8'))
    })
    response.on('close', () => end(new ApiFailure('cut', `Cannot read ${path}: the connection was closed too early`)))
  })
}

function jsonOf(text: string, { path }: Question): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new ApiFailure('garbage', `Cannot read ${path}: the answer is not JSON: ${excerpt(text)}`, { cause: error })
  }
}

function refusal(response: IncomingMessage, text: string, { path, method = 'GET' }: Question): ApiFailure {
  const status = response.statusCode ?? 0
  const seconds = Number(response.headers['retry-after'])
  const retryAfter = seconds > 0 ? { retryAfter: Math.min(seconds * 1_000, LONGEST_RETRY) } : {}
  return new ApiFailure(kindOfStatus(status), `${method} ${path}: status ${status}: ${messageIn(text)}`, {
    ...retryAfter,
    status,
  })
}

/** Returns the message of a Status object, or the start of another text. */
function messageIn(text: string): string {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && 'message' in value) return excerpt(String(value.message))
  } catch {
    // The answer is not JSON; it may be the page of a proxy.
  }
  return excerpt(text)
}

const excerpt = (text: string): string => JSON.stringify(text.length > 120 ? `${text.slice(0, 120)}…` : text)
