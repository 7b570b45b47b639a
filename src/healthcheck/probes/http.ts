/**
 * Probe over HTTP/1.1. Every run of the probe uses a new connection, because an old connection may still reach a
 * process that accepts no new connections. This file decides which response is a success, and how redirects are
 * followed (as curl -L does). The status decides as soon as it arrives, unless the body must match. The probe does not
 * know when a run happens, or how a result counts.
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

/** Limit of remembered servers. Redirects may lead to any host. */
const MOST_ORIGINS = 16

export type HttpPorts = {
  /** Function that opens a stream. `undefined`: Node's sockets are used. */
  readonly openStream?: OpenStream | undefined
  /** Function that resolves host names. `undefined`: the resolver of the system. */
  readonly resolve?: Resolve | undefined
}

/** Makes the probe of an http check. Throws TypeError or SyntaxError for an invalid URL or pattern. */
export function httpProbe(spec: HttpSpec, ports: HttpPorts = {}): Probe {
  const probe = new HttpProbe(spec, ports)
  return {
    start: (cutoff) => asRun(probe.ask(cutoff)),
    events: spec.events ? (onEvent) => probe.idle(onEvent) : undefined,
  }
}

type Result = Pick<ProbeResult, 'outcome' | 'reason' | 'detail'>

class HttpProbe {
  readonly #spec: HttpSpec
  readonly #ports: HttpPorts
  readonly #first: HttpOrder
  readonly #matcher: ReturnType<typeof matcherOf> | undefined
  readonly #firstQuestion: Question
  readonly #home: Endpoint
  /** Servers to which redirects have led, by origin. */
  readonly #others = new Map<string, Endpoint>()

  constructor(spec: HttpSpec, ports: HttpPorts) {
    this.#spec = spec
    this.#ports = ports
    this.#first = firstOrder(spec)
    this.#matcher = spec.body === undefined ? undefined : matcherOf(spec.body)
    this.#firstQuestion = this.#questionOf(this.#first)
    this.#home = endpointOf(this.#first.url, spec, true, ports.resolve)
  }

  async ask(cutoff: Cutoff): Promise<ProbeResult> {
    const startedAt = monotonicNow()
    const result = await this.#evaluate(cutoff).catch((error: unknown): Result => {
      const { outcome, reason, message: detail } = asFailedProbe(error)
      return { outcome, reason, detail }
    })
    return { ...result, latency: millis(monotonicNow() - startedAt) }
  }

  /** Makes the idle connection whose end is an event of the check. */
  idle(onEvent: () => void): IdleConnection {
    return new IdleConnection((signal) => openConnection(this.#home, signal), onEvent)
  }

  /** Runs the probe once. Rejects with FailedProbe, and with errors of the connection. */
  async #evaluate(cutoff: Cutoff): Promise<Result> {
    const { redirects, status: wanted } = this.#spec
    let question = this.#firstQuestion
    for (let hops = 0; ; hops++) {
      const { order } = question
      const answer = await exchange(question, this.#endpointFor(order.url), cutoff, this.#ports.openStream)
      const { status, location, body } = answer
      if (redirects > 0 && location !== undefined && isRedirect(status)) {
        if (hops >= redirects) throw new FailedProbe('tooManyRedirects', `More than ${redirects} redirects`)
        question = this.#questionOf(redirected(order, status, location))
        continue
      }
      const url = formatUrl(order.url)
      if (!wanted.some(([from, to]) => status >= from && status <= to))
        return fail('status', `${url} answered ${status}, expected ${formatRanges(wanted)}`)
      const matcher = this.#matcher
      if (matcher !== undefined && !matcher.matches(body))
        return fail('contentMissing', `${matcher.wanted} is not in the answer (${status}) of ${url}`)
      return { outcome: 'ok', reason: 'ok', detail: `${status}` }
    }
  }

  #questionOf(order: HttpOrder): Question {
    return { order, bytes: requestOf(order), matcher: this.#matcher, follows: this.#spec.redirects > 0 }
  }

  #endpointFor(url: URL): Endpoint {
    if (url.origin === this.#first.url.origin) return this.#home
    const known = this.#others.get(url.origin)
    if (known !== undefined) return known
    if (this.#others.size >= MOST_ORIGINS) this.#others.clear()
    const fresh = endpointOf(url, this.#spec, false, this.#ports.resolve)
    this.#others.set(url.origin, fresh)
    return fresh
  }
}

const fail = (reason: ProbeResult['reason'], detail: string): Result => ({ outcome: 'fail', reason, detail })

/**
 * Returns the first request of a run. Credentials of the URL become a header, as in curl, and are not in any message.
 */
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
  // The configured TLS server name belongs to the host of the configured URL, not to the host to which a redirect
  // leads.
  const tls = isHome ? spec.tls : { ...spec.tls, serverName: undefined }
  return {
    place:
      spec.unixSocket === undefined
        ? { host, port: url.port === '' ? (secure ? 443 : 80) : Number(url.port) }
        : { unixSocket: spec.unixSocket },
    tls: secure ? new TlsClient(tls, url.hostname) : undefined,
  }
}
