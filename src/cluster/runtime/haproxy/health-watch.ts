/**
 * Asks HAProxy whether it has a backend, regularly and immediately after the end of an idle connection. With an idle
 * connection a killed HAProxy is noticed immediately, because the kernel closes its connections. No function throws; an
 * unreachable HAProxy is an answer.
 */
import { Agent, request } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../../../base/message-of.ts'
import { HEALTH_PATH, HEALTH_PORT } from '../../decisions/haproxy/monitor-settings.ts'

/** Shortest time between two checks in milliseconds, for an HAProxy that ends each connection. */
const SHORTEST = 20

export type HealthAnswer = {
  readonly isGood: boolean
  /** Result of the check as text, for the log. */
  readonly what: string
}

export type HealthWatchOptions = {
  /** Milliseconds between two checks. */
  readonly every: number
  readonly timeout: number
  /** True if the end of an idle connection causes a check. */
  readonly followsEnd: boolean
  /** Returns why HAProxy counts as not usable without being asked; `undefined` if it must be asked. */
  readonly objection?: () => string | undefined
  readonly onAnswer: (answer: HealthAnswer) => void
  readonly url?: string
}

/** Checks HAProxy until `signal` is aborted. */
export async function watchHealth(options: HealthWatchOptions, signal: AbortSignal): Promise<void> {
  const {
    every,
    timeout,
    followsEnd,
    objection,
    onAnswer,
    url = `http://127.0.0.1:${HEALTH_PORT}${HEALTH_PATH}`,
  } = options
  const agent = new Agent({ keepAlive: followsEnd, maxSockets: 1 })
  let hasEnded = () => {}
  const onEnd = () => hasEnded()
  while (!signal.aborted) {
    const started = performance.now()
    const ended = new Promise<void>((resolve) => {
      hasEnded = resolve
    })
    const against = objection?.()
    const asked = against === undefined ? askHealth(url, { agent, timeout, onEnd }) : { isGood: false, what: against }
    const answer = await asked
    if (signal.aborted) break
    onAnswer(answer)
    const until = new AbortController()
    const stop = () => until.abort()
    signal.addEventListener('abort', stop, { once: true })
    const left = (whole: number) => Math.max(0, whole - (performance.now() - started))
    const rest = sleep(Math.max(SHORTEST, left(every)), undefined, { signal: until.signal })
    const early = ended.then(() => sleep(left(SHORTEST)))
    await Promise.race(followsEnd ? [rest, early] : [rest]).catch(() => {})
    signal.removeEventListener('abort', stop)
    stop()
    await rest.catch(() => {})
  }
  agent.destroy()
}

type Question = { readonly agent: Agent; readonly timeout: number; readonly onEnd: () => void }

/** Sockets of which the end is noticed. */
const followed = new WeakSet<Socket>()

function askHealth(url: string, { agent, timeout, onEnd }: Question): Promise<HealthAnswer> {
  return new Promise((resolve) => {
    const asked = request(url, { agent, signal: AbortSignal.timeout(timeout) }, (answer) => {
      answer.resume()
      answer.on('error', () => {})
      answer.once('close', () => resolve({ isGood: answer.statusCode === 200, what: `status ${answer.statusCode}` }))
    })
    asked.on('socket', (socket) => {
      if (followed.has(socket)) return
      followed.add(socket)
      socket.once('close', onEnd)
    })
    asked.on('error', (error) => {
      // At a reload HAProxy's former process closes the connection, perhaps when the question is on its way.
      if (asked.reusedSocket && 'code' in error && error.code === 'ECONNRESET')
        return resolve(askHealth(url, { agent, timeout, onEnd }))
      const what =
        error.name === 'AbortError' || error.name === 'TimeoutError' ? `no answer in ${timeout} ms` : messageOf(error)
      resolve({ isGood: false, what })
    })
    asked.end()
  })
}
