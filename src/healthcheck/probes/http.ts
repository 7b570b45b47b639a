/**
 * Asks over HTTP/1.1, each time on a new connection, because a kept one may still reach a process that takes no new
 * ones. Decided here: which answer is well, and how redirects are followed (as curl -L does). The status decides as
 * soon as it is there, unless the body must match. Refuses to know when it is asked and what an answer is worth.
 */
import { millis } from '../../wire/units.ts'
import type { HttpSpec } from '../check.ts'
import { type Endpoint, openConnection } from '../connection/connection.ts'
import { exchange, formatUrl, type Question } from '../connection/exchange.ts'
import { HostName, type Resolve } from '../connection/host-name.ts'
import { IdleConnection } from '../connection/idle-connection.ts'
import type { OpenStream } from '../connection/stream.ts'
import { TlsClient } from '../connection/tls-client.ts'
import type { Cutoff } from '../cutoff.ts'
import { asFailedProbe, FailedProbe } from '../failed-probe.ts'
import { asRun, monotonicNow, type Probe } from '../probe.ts'
import type { ProbeResult } from '../probe-result.ts'
import { matcherOf } from './expectation.ts'
import { requestOf } from './http-request.ts'
import { type HttpOrder, isRedirect, redirected } from './redirect.ts'

/** Redirects may lead anywhere; what is remembered of where they led is bounded. */
const MOST_ORIGINS = 16

export type HttpPorts = {
  /** Undefined: over Node's sockets. */
  readonly openStream?: OpenStream | undefined
  /** Undefined: the system's. */
  readonly resolve?: Resolve | undefined
}

/** Throws TypeError or SyntaxError for a URL or a pattern that is none. */
export function httpProbe(spec: HttpSpec, { openStream, resolve }: HttpPorts = {}): Probe {
  const first = firstOrder(spec)
  const matcher = spec.body === undefined ? undefined : matcherOf(spec.body)
  const questionOf = (order: HttpOrder): Question => ({
    order,
    bytes: requestOf(order),
    matcher,
    follows: spec.redirects > 0,
  })
  const firstQuestion = questionOf(first)
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

  async function ask(cutoff: Cutoff): Promise<ProbeResult> {
    const startedAt = monotonicNow()
    const result = (outcome: ProbeResult['outcome'], reason: ProbeResult['reason'], detail: string): ProbeResult => ({
      outcome,
      reason,
      detail,
      latency: millis(monotonicNow() - startedAt),
    })
    try {
      let question = firstQuestion
      for (let hops = 0; ; hops++) {
        const { order } = question
        const { status, location, body } = await exchange(question, endpointFor(order.url), cutoff, openStream)
        if (spec.redirects > 0 && location !== undefined && isRedirect(status)) {
          if (hops >= spec.redirects) throw new FailedProbe('tooManyRedirects', `More than ${spec.redirects} redirects`)
          question = questionOf(redirected(order, status, location))
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
    start: (cutoff) => asRun(ask(cutoff)),
    events: spec.events
      ? (onEvent) => new IdleConnection((signal) => openConnection(home, signal), onEvent)
      : undefined,
  }
}

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
