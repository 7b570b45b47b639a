/**
 * One request and its answer on a connection of its own: without Node's sockets where the system can be asked directly,
 * with them for TLS and unix sockets. Decided here: when enough of an answer is there (the status, unless the body must
 * match), and what an answer that ends too soon is. Refuses to know what an answer is worth and where a redirect leads.
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
  /** A redirect is not the answer: its body does not matter. */
  readonly follows: boolean
}

/** Without the query, which may hold a token. */
export const formatUrl = ({ origin, pathname }: URL): string => `${origin}${pathname}`

/** Rejects with Error. */
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
    // A zone is Node's to understand.
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

/** `open` gives back what ends the connection. */
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
  /** What it waits for before it can wait for an answer. */
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
    // A poll of a port in the ephemeral range meets its own SYN sooner or later.
    const itself = bytes.equals(this.#question.bytes)
    return itself ? `Nobody listens: the connection met itself` : `Not a HTTP answer of ${this.#place}: ${what}`
  }
}
