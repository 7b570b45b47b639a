/**
 * Finds the IP addresses of a check's host name. This file decides that IP addresses and `localhost` never use a
 * resolver. Old addresses are used during a lookup, and while the resolver does not answer, because a VIP must follow
 * its service and not the name server. If the resolver answers that the name does not exist, the addresses are dropped
 * immediately. At most one lookup runs: getaddrinfo cannot be cancelled, and the whole process shares its threads.
 */

import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { type Millis, plus } from '../../wire/units.ts'
import type { Cutoff } from '../cutoff.ts'
import { codeOf, DeadlinePassed, FailedProbe } from '../failed-probe.ts'
import { monotonicNow } from '../probe.ts'

/**
 * Milliseconds for which the addresses of a host name are fresh. By this time, a check with an interval of a second
 * does not query the name server every second.
 */
const FRESH = 5_000

export type Resolve = (name: string) => Promise<readonly LookupAddress[]>

const viaSystem: Resolve = (name) => lookup(name, { all: true, verbatim: true })

// Addresses of `localhost` by RFC 6761 §6.3, without a lookup.
const LOOPBACK: readonly LookupAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
]

export class HostName {
  readonly name: string
  readonly #resolve: Resolve
  readonly #fresh: number
  #known: readonly LookupAddress[] | undefined
  #askAgainAt: Millis | undefined
  #question: Promise<void> | undefined
  #failure: FailedProbe | undefined

  constructor(name: string, resolve: Resolve = viaSystem, fresh = FRESH) {
    // In a URL an IPv6 address has brackets.
    this.name = name.replace(/^\[(.*)\]$/, '$1')
    this.#resolve = resolve
    this.#fresh = fresh
    const family = isIP(this.name)
    if (family !== 0) this.#known = [{ address: this.name, family }]
    else if (/^(.+\.)?localhost\.?$/i.test(this.name)) this.#known = LOOPBACK
    else this.#askAgainAt = monotonicNow()
  }

  /** Returns the addresses of the host name. Throws FailedProbe. */
  async addresses(signal: Cutoff): Promise<readonly LookupAddress[]> {
    if (this.#askAgainAt !== undefined && monotonicNow() >= this.#askAgainAt) this.#question ??= this.#ask(this.name)
    if (this.#known !== undefined) return this.#known
    if (this.#question !== undefined) await this.#answerOr(signal, this.#question)
    if (this.#known !== undefined) return this.#known
    throw this.#failure ?? new FailedProbe('nameUnanswered', `Cannot look up "${this.name}": no answer`)
  }

  async #ask(name: string): Promise<void> {
    try {
      const found = await this.#resolve(name)
      if (found.length === 0) throw Object.assign(new Error('no address'), { code: 'ENODATA' })
      this.#known = found
      this.#askAgainAt = plus(monotonicNow(), this.#fresh)
    } catch (error) {
      const code = codeOf(error)
      const gone = code === 'ENOTFOUND' || code === 'ENODATA'
      if (gone) this.#known = undefined
      this.#failure = new FailedProbe(
        gone ? 'nameNotFound' : 'nameUnanswered',
        `Cannot look up "${name}": ${gone ? 'the name does not exist' : `error of the resolver: ${code}`}`,
      )
    } finally {
      this.#question = undefined
    }
  }

  #answerOr(signal: Cutoff, question: Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      const late = () => reject(new DeadlinePassed(`still looking up "${this.name}"`))
      if (signal.aborted) late()
      signal.addEventListener('abort', late, { once: true })
      void question.then(() => {
        signal.removeEventListener('abort', late)
        resolve()
      })
    })
  }
}
