/**
 * Asks kube-api for readyz through the API's virtual addresses, as a client would. This file decides how often, the
 * time limit of an answer, and when kube-api counts as silent. Through a VIP the certificate is not verified, as in
 * keepalived's checks, because nothing secret is sent.
 */
import { request as httpRequest } from 'node:http'
import { request as httpsRequest, type RequestOptions } from 'node:https'
import { type Address, familyOf } from '../../../wire/address.ts'
import type { ProbeFinding } from '../../decisions/status/finding.ts'

export type ProbeOptions = {
  readonly port: number
  readonly everyMs: number
  readonly withinMs: number
  /** Number of failures in a row after which kube-api counts as silent. */
  readonly failures: number
  /** Scheme of the URL, for tests; absent: https. */
  readonly scheme?: 'http' | 'https'
  /** Host that is asked in the place of each address, for tests. */
  readonly host?: string
  /** Authorities and name with which the certificate is verified; absent: it is not verified. */
  readonly trust?: { readonly ca: RequestOptions['ca']; readonly servername: string }
}

export const PROBE: ProbeOptions = { port: 6443, everyMs: 5_000, withinMs: 2_000, failures: 3 }

/** Sends a request for readyz. Returns `undefined` after status 200, otherwise the reason. */
export function askReadyz(
  address: Address,
  { host = hostOf(address), port, scheme = 'https', trust, withinMs }: ProbeOptions,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const request = scheme === 'https' ? httpsRequest : httpRequest
    const asked = request(
      `${scheme}://${host}:${port}/readyz`,
      { agent: false, rejectUnauthorized: trust !== undefined, ...trust },
      (response) => {
        clearTimeout(late)
        response.resume()
        response.on('error', () => {})
        resolve(response.statusCode === 200 ? undefined : `status ${response.statusCode}`)
        asked.destroy()
      },
    )
    const late = setTimeout(() => asked.destroy(new Error(`no answer within ${withinMs} ms`)), withinMs)
    asked.on('error', (error) => {
      clearTimeout(late)
      resolve('code' in error ? String(error.code) : error.message)
    })
    asked.end()
  })
}

const hostOf = (address: Address): string => (familyOf(address) === 'ipv6' ? `[${address}]` : address)

type Answers = { readonly failures: Map<Address, { count: number; why: string }>; readonly answered: Set<Address> }

export class VipProbe {
  readonly #addresses: readonly Address[]
  readonly #options: ProbeOptions
  readonly #onRound: () => void
  /** Answers of kube-api since the probe was started; `undefined` while it is stopped. */
  #answers: Answers | undefined
  #isAsked = false
  #timer: NodeJS.Timeout | undefined

  /** Creates a probe of these addresses. `onRound` is called each time every address was asked. */
  constructor(addresses: readonly Address[], options: ProbeOptions = PROBE, onRound: () => void = () => {}) {
    this.#addresses = addresses
    this.#options = options
    this.#onRound = onRound
  }

  /** Starts the probe, which asks immediately and then regularly; or stops the probe and drops the answers. */
  want(isWanted: boolean): void {
    if (isWanted === (this.#answers !== undefined)) return
    clearTimeout(this.#timer)
    this.#isAsked = false
    this.#answers = isWanted ? { failures: new Map(), answered: new Set() } : undefined
    if (this.#answers !== undefined && this.#addresses.length > 0) void this.#round(this.#answers)
  }

  end(): void {
    this.want(false)
  }

  get finding(): ProbeFinding {
    if (this.#addresses.length === 0) return { result: 'undecided' }
    if (this.#answers === undefined || !this.#isAsked) return { result: 'unasked' }
    const { answered, failures } = this.#answers
    for (const address of this.#addresses) {
      const failed = failures.get(address)
      if (failed !== undefined && failed.count >= this.#options.failures)
        return { result: 'silent', address, why: failed.why }
    }
    return { result: this.#addresses.every((address) => answered.has(address)) ? 'answers' : 'undecided' }
  }

  async #round(answers: Answers): Promise<void> {
    const { failures, answered } = answers
    await Promise.all(
      this.#addresses.map(async (address) => {
        const why = await askReadyz(address, this.#options)
        if (why === undefined) {
          failures.delete(address)
          answered.add(address)
        } else {
          failures.set(address, { count: (failures.get(address)?.count ?? 0) + 1, why })
        }
      }),
    )
    if (this.#answers !== answers) return
    this.#isAsked = true
    this.#timer = setTimeout(() => void this.#round(answers), this.#options.everyMs)
    this.#timer.unref()
    this.#onRound()
  }
}
