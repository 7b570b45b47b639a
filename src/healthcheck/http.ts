/**
 * Asks over HTTP/1.1, each time on a new connection, because a kept one may still reach a process that takes no new
 * ones. Decided here: which answer is well, and how redirects are followed (as curl -L does). The status decides as
 * soon as it is there, unless the body must match. Refuses to know when it is asked and what an answer is worth.
 */
import { type IncomingMessage, request as sendRequest } from 'node:http'
import type { Socket } from 'node:net'
import { millis } from '../wire/units.ts'
import type { HttpSpec } from './check.ts'
import { type Endpoint, openConnection } from './connection.ts'
import { ANSWER_LIMIT, type Matcher, matcherOf } from './expectation.ts'
import { asFailedProbe, DeadlinePassed, FailedProbe } from './failed-probe.ts'
import { HostName, type Resolve } from './host-name.ts'
import { IdleConnection } from './idle-connection.ts'
import { asRun, monotonicNow, type Probe } from './probe.ts'
import type { ProbeResult } from './probe-result.ts'
import { type HttpOrder, isRedirect, redirected } from './redirect.ts'
import { TlsClient } from './tls-client.ts'

/** Redirects may lead anywhere; what is remembered of where they led is bounded. */
const MOST_ORIGINS = 16

/** Throws TypeError or SyntaxError for a URL or a pattern that is none. */
export function httpProbe(spec: HttpSpec, resolve?: Resolve): Probe {
  const first = firstOrder(spec)
  const matcher = spec.body === undefined ? undefined : matcherOf(spec.body)
  const home = endpointOf(first.url, spec, true, resolve)
  const others = new Map<string, Endpoint>()

  function endpointFor(url: URL): Endpoint {
    if (url.origin === first.url.origin) return home
    const known = others.get(url.origin)
    if (known !== undefined) return known
    if (others.size >= MOST_ORIGINS) others.clear()
    const fresh = endpointOf(url, spec, false, resolve)
    others.set(url.origin, fresh)
    return fresh
  }

  async function ask(signal: AbortSignal): Promise<ProbeResult> {
    const startedAt = monotonicNow()
    const result = (outcome: ProbeResult['outcome'], reason: ProbeResult['reason'], detail: string): ProbeResult => ({
      outcome,
      reason,
      detail,
      latency: millis(monotonicNow() - startedAt),
    })
    try {
      let order = first
      for (let hops = 0; ; hops++) {
        const { status, location, body } = await answerTo(
          order,
          endpointFor(order.url),
          matcher,
          spec.redirects > 0,
          signal,
        )
        if (spec.redirects > 0 && location !== undefined && isRedirect(status)) {
          if (hops >= spec.redirects) throw new FailedProbe('tooManyRedirects', `More than ${spec.redirects} redirects`)
          order = redirected(order, status, location)
          continue
        }
        if (!spec.status.some(([from, to]) => status >= from && status <= to)) {
          return result(
            'fail',
            'status',
            `${formatUrl(order.url)} answered ${status}, wanted ${formatRanges(spec.status)}`,
          )
        }
        if (matcher !== undefined && !matcher.matches(body)) {
          return result(
            'fail',
            'contentMissing',
            `${matcher.wanted} is not in the answer (${status}) of ${formatUrl(order.url)}`,
          )
        }
        return result('ok', 'ok', `${status}`)
      }
    } catch (error) {
      const { outcome, reason, message } = asFailedProbe(error)
      return result(outcome, reason, message)
    }
  }

  return {
    start: (signal) => asRun(ask(signal)),
    events: spec.events
      ? (onEvent) => new IdleConnection((signal) => openConnection(home, signal), onEvent)
      : undefined,
  }
}

/** Without the query, which may hold a token. */
const formatUrl = ({ origin, pathname }: URL): string => `${origin}${pathname}`

/** Credentials of the URL become a header, as curl has it, and stay out of every message. */
function firstOrder({ url: text, method, headers }: HttpSpec): HttpOrder {
  const url = new URL(text)
  const credentials = [url.username, url.password].map(decodeURIComponent).join(':')
  if (credentials === ':') return { url, method, headers }
  url.username = ''
  url.password = ''
  const authorization = `Basic ${Buffer.from(credentials).toString('base64')}`
  return { url, method, headers: { authorization, ...headers } }
}

const formatRanges = (ranges: HttpSpec['status']): string =>
  ranges.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(', ')

function endpointOf(url: URL, spec: HttpSpec, isHome: boolean, resolve: Resolve | undefined): Endpoint {
  const secure = url.protocol === 'https:'
  const host = new HostName(url.hostname, resolve)
  // The name that the operator gave is the name of the host that the operator gave.
  const tls = isHome ? spec.tls : { ...spec.tls, serverName: undefined }
  return {
    place:
      spec.unixSocket === undefined
        ? { host, port: url.port === '' ? (secure ? 443 : 80) : Number(url.port) }
        : { unixSocket: spec.unixSocket },
    tls: secure ? new TlsClient(tls, url.hostname) : undefined,
  }
}

type Answer = { readonly status: number; readonly location: string | undefined; readonly body: string }

async function answerTo(
  order: HttpOrder,
  endpoint: Endpoint,
  matcher: Matcher | undefined,
  follows: boolean,
  signal: AbortSignal,
): Promise<Answer> {
  const socket = await openConnection(endpoint, signal)
  try {
    const answer = await headOf(order, socket, signal)
    const status = answer.statusCode ?? 0
    const { location } = answer.headers
    const leaves = follows && location !== undefined && isRedirect(status)
    const body = matcher === undefined || leaves ? '' : await bodyOf(answer, matcher, order.url, signal)
    return { status, location, body }
  } finally {
    socket.destroy()
  }
}

function headOf(order: HttpOrder, socket: Socket, signal: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { url, method, headers } = order
    const request = sendRequest({
      createConnection: () => socket,
      method,
      path: `${url.pathname}${url.search}`,
      headers: { host: url.host, 'user-agent': 'holdfast', accept: '*/*', ...headers },
    })
    const late = () => {
      request.destroy()
      reject(new DeadlinePassed(`waiting for the answer of ${formatUrl(url)}`))
    }
    request.on('response', (answer) => {
      signal.removeEventListener('abort', late)
      // Destroyed in the middle of a body it says so; that was us.
      answer.on('error', () => {})
      resolve(answer)
    })
    request.on('error', (error) => {
      signal.removeEventListener('abort', late)
      reject(error)
    })
    // A server that switches protocols unasked, and one that ends without a word.
    request.on('upgrade', () => reject(new FailedProbe('badAnswer', `${formatUrl(url)} switched protocols`)))
    request.on('close', () => reject(new FailedProbe('connectionReset', `${formatUrl(url)} closed without an answer`)))
    if (signal.aborted) late()
    else signal.addEventListener('abort', late, { once: true })
    request.end()
  })
}

/** At most ANSWER_LIMIT bytes; what matches earlier is not read further. */
function bodyOf(answer: IncomingMessage, matcher: Matcher, url: URL, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    let body = ''
    const finish = (error?: Error) => {
      signal.removeEventListener('abort', late)
      answer.removeAllListeners('data')
      if (error === undefined) resolve(body)
      else reject(error)
    }
    const late = () => finish(new DeadlinePassed(`reading the answer of ${formatUrl(url)}`))
    answer.setEncoding('utf8')
    answer.on('data', (text: string) => {
      body += text
      if (body.length > ANSWER_LIMIT || matcher.matches(body)) finish()
    })
    answer.on('end', () => finish())
    answer.on('close', () => finish(new FailedProbe('connectionReset', `${formatUrl(url)} closed within its answer`)))
    if (signal.aborted) late()
    else signal.addEventListener('abort', late, { once: true })
  })
}
