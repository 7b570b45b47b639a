/**
 * Probe that connects to a port. A run is a success if the port accepts the connection and, where configured, the
 * server answers as expected. Every run of a TCP probe uses a new connection. The probe does not know when a run
 * happens, or how a result counts.
 */

import type { Socket } from 'node:net'
import { type Millis, millis } from '../../wire/units.ts'
import type { TcpSpec } from '../check.ts'
import { type Endpoint, formatEndpoint, openConnection } from '../connection/connection.ts'
import { HostName, type Resolve } from '../connection/host-name.ts'
import { IdleConnection } from '../connection/idle-connection.ts'
import type { Cutoff } from '../cutoff.ts'
import { asFailedProbe, DeadlinePassed, FailedProbe } from '../failed-probe.ts'
import { asRun, monotonicNow, type Probe } from '../probe.ts'
import type { ProbeResult } from '../probe-result.ts'
import { ANSWER_LIMIT, type Matcher, matcherOf } from './expectation.ts'

/** Makes the probe of a tcp check. Throws SyntaxError for an invalid pattern. */
export function tcpProbe(spec: TcpSpec, resolve?: Resolve): Probe {
  const endpoint: Endpoint = { place: { host: new HostName(spec.host, resolve), port: spec.port }, tls: undefined }
  const matcher = spec.expect === undefined ? undefined : matcherOf(spec.expect)

  async function ask(signal: Cutoff): Promise<ProbeResult> {
    const startedAt = monotonicNow()
    let socket: Socket | undefined
    try {
      socket = await openConnection(endpoint, signal)
      if (spec.send !== undefined) socket.write(spec.send)
      if (matcher !== undefined) await answerOf(socket, matcher, `the answer of ${formatEndpoint(endpoint)}`, signal)
      const detail = matcher === undefined ? 'connected' : `answered ${matcher.wanted}`
      return { outcome: 'ok', reason: 'ok', detail, latency: since(startedAt) }
    } catch (error) {
      const { outcome, reason, message: detail } = asFailedProbe(error)
      return { outcome, reason, detail, latency: since(startedAt) }
    } finally {
      if (socket !== undefined) await close(socket)
    }
  }

  return {
    start: (signal) => asRun(ask(signal)),
    events: spec.events
      ? (onEvent) => new IdleConnection((signal) => openConnection(endpoint, signal), onEvent)
      : undefined,
  }
}

/** Longest time in milliseconds for sending the configured data before the check closes the connection. */
const FLUSH_TIME = 100

function close(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const late = setTimeout(() => socket.destroy(), FLUSH_TIME)
    socket.once('close', () => {
      clearTimeout(late)
      resolve()
    })
    if (socket.closed) resolve()
    else socket.destroySoon()
  })
}

const since = (startedAt: Millis): Millis => millis(monotonicNow() - startedAt)

function answerOf(socket: Socket, matcher: Matcher, what: string, signal: Cutoff): Promise<void> {
  return new Promise((resolve, reject) => {
    let answer = ''
    const missing = (why: string) =>
      finish(new FailedProbe('contentMissing', `${matcher.wanted} is not in ${what}: ${why}`))
    const late = () => finish(new DeadlinePassed(`waiting for ${what} to hold ${matcher.wanted}`))
    const finish = (error?: Error) => {
      signal.removeEventListener('abort', late)
      socket.removeAllListeners('data')
      if (error === undefined) resolve()
      else reject(error)
    }
    socket.setEncoding('utf8')
    socket.on('data', (text: string) => {
      answer += text
      if (matcher.matches(answer)) finish()
      else if (answer.length > ANSWER_LIMIT) missing(`it exceeds ${ANSWER_LIMIT} bytes`)
    })
    socket.once('end', () => missing('it ended'))
    socket.once('error', finish)
    socket.once('close', () => missing('the connection was closed'))
    if (signal.aborted) late()
    else signal.addEventListener('abort', late, { once: true })
  })
}
