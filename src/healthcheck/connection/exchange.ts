/**
 * Sends one request and reads its answer on a new connection. Node's sockets are used for TLS and unix sockets only.
 * This file decides which octets of an answer are needed (the status, and the body if it must match), and how an
 * incomplete answer counts. Other files decide whether an answer is a success, and how redirects are followed.
 */

import type { Cutoff } from '../cutoff.ts'
import { DeadlinePassed, FailedProbe } from '../failed-probe.ts'
import type { Matcher } from '../probes/expectation.ts'
import { HttpAnswer } from '../probes/http-answer.ts'
import { type HttpOrder, isRedirect } from '../probes/redirect.ts'
import { type Endpoint, formatEndpoint, openConnection } from './connection.ts'
import { LONGEST_QUESTION, type OpenStream, openInTurn } from './stream.ts'

export type Answer = { readonly status: number; readonly location: string | undefined; readonly body: string }

export type Question = {
  readonly order: HttpOrder
  readonly bytes: Buffer
  readonly matcher: Matcher | undefined
  /** True if the check follows redirects. The body of a redirect is not read then. */
  readonly follows: boolean
}

/** Returns a URL without its query, which may contain a token. */
export const formatUrl = ({ origin, pathname }: URL): string => `${origin}${pathname}`

/** Sends an HTTP request and returns the answer. Rejects with Error. */
export async function exchange(
  question: Question,
  endpoint: Endpoint,
  cutoff: Cutoff,
  openStream: OpenStream | undefined,
): Promise<Answer> {
  const { place, tls } = endpoint
  const { bytes } = question
  if (openStream !== undefined && tls === undefined && 'host' in place && bytes.length <= LONGEST_QUESTION) {
    const [first, ...others] = (await place.host.addresses(cutoff)).map(({ address }) => address)
    // Only Node's sockets handle IPv6 addresses with a zone.
    if (first !== undefined && ![first, ...others].some((address) => address.includes('%'))) {
      return converse(question, cutoff, (talk) => {
        const stream = openInTurn(openStream, [first, ...others], place.port, bytes, talk)
        talk.doing = () => (stream.connected ? undefined : `connecting to ${formatEndpoint(endpoint)}`)
        return () => stream.close()
      })
    }
  }
  const socket = await openConnection(endpoint, cutoff)
  return converse(question, cutoff, (talk) => {
    socket.on('data', talk.onBytes).on('error', talk.onEnd)
    socket.on('end', () => talk.onEnd()).on('close', () => talk.onEnd())
    socket.write(bytes)
    return () => socket.destroy()
  })
}

/** Waits for the answer of the server. `open` opens a connection and returns the function that ends it. */
function converse(question: Question, cutoff: Cutoff, open: (talk: Talk) => () => void): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let close = () => {}
    let over = false
    const talk = new Talk(question, (outcome) => {
      if (over) return
      over = true
      cutoff.removeEventListener('abort', late)
      close()
      if (outcome instanceof Error) reject(outcome)
      else resolve(outcome)
    })
    const late = () => talk.late()
    close = open(talk)
    if (cutoff.aborted) late()
    else cutoff.addEventListener('abort', late, { once: true })
  })
}

class Talk {
  readonly #question: Question
  readonly #answer: HttpAnswer
  readonly #settle: (outcome: Answer | Error) => void
  /**
   * Returns the current step before the wait for an answer, such as connecting; `undefined` while the request waits for
   * its answer.
   */
  doing: () => string | undefined = () => undefined

  constructor(question: Question, settle: (outcome: Answer | Error) => void) {
    this.#question = question
    this.#answer = new HttpAnswer(question.order.method)
    this.#settle = settle
  }

  readonly onBytes = (bytes: Buffer): void => {
    const wrong = this.#answer.read(bytes)
    if (wrong !== undefined) this.#settle(new FailedProbe('badAnswer', this.#wrong(wrong, bytes)))
    else this.#judge()
  }

  readonly onEnd = (error?: Error): void => {
    if (error !== undefined) return this.#settle(error)
    if (this.#answer.end()) this.#judge()
    const how = this.#answer.status === undefined ? 'without an answer' : 'within its answer'
    this.#settle(new FailedProbe('connectionReset', `${this.#place} closed ${how}`))
  }

  late(): void {
    const waiting = `${this.#answer.status === undefined ? 'waiting for' : 'reading'} the answer of ${this.#place}`
    this.#settle(new DeadlinePassed(this.doing() ?? waiting))
  }

  #judge(): void {
    const { matcher, follows } = this.#question
    const { status, location } = this.#answer
    if (status === undefined) return
    const leaves = follows && location !== undefined && isRedirect(status)
    if (matcher === undefined || leaves) return this.#settle({ status, location, body: '' })
    const { body, complete } = this.#answer
    if (complete || matcher.matches(body)) this.#settle({ status, location, body })
  }

  get #place(): string {
    return formatUrl(this.#question.order.url)
  }

  #wrong(what: string, bytes: Buffer): string {
    // The connection is connected to itself: it receives its own request. A connection to itself is possible for ports
    // in the ephemeral range.
    const itself = bytes.equals(this.#question.bytes)
    return itself
      ? `No process listens: the socket connected to itself`
      : `Not an HTTP answer of ${this.#place}: ${what}`
  }
}
