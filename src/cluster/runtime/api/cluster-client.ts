/**
 * Questions to the API of the cluster, one connection each. Decided here: how long an answer may take and how large it may
 * be, what is an answer, and that what fails by one address is asked at the next one (the node's own API server). Refuses
 * to know where addresses and credentials come from (cluster-access.ts) and what is asked. The client's own requests
 * would pass over what is no JSON without a word, and wait for ever.
 */
import { type IncomingMessage, type RequestOptions, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { ApiFailure, failureOf, kindOfStatus } from './api-failure.ts'
import { LineReader } from './line-reader.ts'
import { onAddressLost } from './lost-address.ts'

export type Endpoint = {
  /** `https://api-int.ostest.example.com:6443`, without a slash at the end. */
  readonly server: string
  /** Credentials and what is believed of the other side. */
  readonly options: RequestOptions
}

/** Asked for each question: files are read again, so a token that was rotated is the new one. Rejects with ApiFailure. */
export type ClusterAccess = () => Promise<readonly Endpoint[]>

export type Question = {
  readonly path: string
  /** Default: GET. */
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'PUT'
  /** Sent as JSON. */
  readonly body?: unknown
  /** Of the body; default: application/json. */
  readonly contentType?: string
}

export type Limits = {
  /** Milliseconds for a whole answer, and for the beginning of a stream. */
  readonly within: number
  /** Milliseconds for which a stream may be silent. */
  readonly silence: number
}

export const DEFAULT_LIMITS: Limits = { within: 15_000, silence: 180_000 }
/** Two thousand nodes with all their images. */
const LARGEST_ANSWER = 128 * 1024 * 1024
/** etcd takes no object of more than 1.5 MB. */
const LONGEST_LINE = 8 * 1024 * 1024
const LONGEST_RETRY = 60_000
/** A server that is gone with its address (failover) shows itself by not answering these. */
const KEEP_ALIVE = 10_000

type Watching = {
  readonly onLine: (line: string) => void
  /** It was taken: what follows are events. */
  readonly onOpen: () => void
  readonly signal: AbortSignal
}

export class ClusterClient {
  readonly #access: ClusterAccess
  readonly #limits: Limits
  /** Of an attempt after which another one was made, or not. */
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

  /** JSON. Rejects with the ApiFailure of the first address that was asked. */
  ask(question: Question, signal?: AbortSignal): Promise<unknown> {
    return this.#anywhere(async (endpoint) => {
      const response = await this.#send(endpoint, question, signal)
      const text = await textOf(response, question, this.#limits.within)
      if (response.statusCode === undefined || response.statusCode >= 300) throw refusal(response, text, question)
      return jsonOf(text, question)
    }, signal)
  }

  /** Each line of the answer as it comes. Resolves when the other side ends it; rejects with ApiFailure. */
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
      // What was heard already must not be heard again.
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
    throw first ?? new ApiFailure('credentials', 'Cannot ask the API: no address of it is known')
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
      const bark = () => end(new ApiFailure('silent', `Nothing came on ${path} for ${silence} ms`))
      const watchdog = setTimeout(bark, silence)
      // What comes next may be that this node has another address.
      const forget = onAddressLost(response.socket, (own) =>
        end(new ApiFailure('cut', `${path} came to ${own}, which this machine no longer has`)),
      )
      response.on('data', (chunk: Buffer) => {
        watchdog.refresh()
        const lines = reader.take(chunk)
        if (lines === undefined) return end(new ApiFailure('garbage', `A line of ${path} has no end`))
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
      response.on('close', () => end(new ApiFailure('cut', `${path} was cut`)))
    })
  }
}

/** Whoever answered so knows the cluster: another address of it would say the same. */
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
      () => end(new ApiFailure('timeout', `Cannot read ${path}: it did not end in ${within} ms`)),
      within,
    )
    response.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      length += chunk.length
      if (length > LARGEST_ANSWER) end(new ApiFailure('garbage', `Cannot read ${path}: it is too large`))
    })
    response.on('error', (error) => end(failureOf(error, `read ${path}`)))
    response.on('end', () => {
      clearTimeout(late)
      resolve(Buffer.concat(chunks).toString('utf8'))
    })
    response.on('close', () => end(new ApiFailure('cut', `Cannot read ${path}: the answer was cut`)))
  })
}

function jsonOf(text: string, { path }: Question): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new ApiFailure('garbage', `Cannot read ${path}: it is no JSON: ${excerpt(text)}`, { cause: error })
  }
}

function refusal(response: IncomingMessage, text: string, { path, method = 'GET' }: Question): ApiFailure {
  const status = response.statusCode ?? 0
  const seconds = Number(response.headers['retry-after'])
  const retryAfter = seconds > 0 ? { retryAfter: Math.min(seconds * 1_000, LONGEST_RETRY) } : {}
  return new ApiFailure(kindOfStatus(status), `${method} ${path} was answered ${status}: ${messageIn(text)}`, {
    ...retryAfter,
    status,
  })
}

/** Of a Status, its message. */
function messageIn(text: string): string {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && 'message' in value) return excerpt(String(value.message))
  } catch {
    // A proxy's page, perhaps.
  }
  return excerpt(text)
}

const excerpt = (text: string): string => JSON.stringify(text.length > 120 ? `${text.slice(0, 120)}…` : text)
