/**
 * Asks kube-api for readyz through the API's virtual addresses, as a client would. Decided here: how often, how long an
 * answer may take, and when it counts as silent. The certificate is not verified, as keepalived's checks do not either: it
 * is asked who answers, and nothing is told. Refuses to know what is made of it.
 */
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { ProbeFinding } from '../kubernetes/finding.ts'
import { type Address, familyOf } from '../wire/address.ts'

export type ProbeOptions = {
  readonly port: number
  readonly everyMs: number
  readonly withinMs: number
  /** In a row, before it counts as silent. */
  readonly failures: number
  /** For tests. */
  readonly scheme?: 'http' | 'https'
}

export const PROBE: ProbeOptions = { port: 6443, everyMs: 5_000, withinMs: 2_000, failures: 3 }

/** Undefined: it answered 200. Otherwise why not. */
export function askReadyz(
  address: Address,
  { port, scheme = 'https', withinMs }: ProbeOptions,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const host = familyOf(address) === 'ipv6' ? `[${address}]` : address
    const request = scheme === 'https' ? httpsRequest : httpRequest
    const asked = request(
      `${scheme}://${host}:${port}/readyz`,
      { agent: false, rejectUnauthorized: false },
      (response) => {
        clearTimeout(late)
        response.resume()
        response.on('error', () => {})
        resolve(response.statusCode === 200 ? undefined : `it answered ${response.statusCode}`)
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

export class VipProbe {
  readonly #addresses: readonly Address[]
  readonly #options: ProbeOptions
  readonly #failures = new Map<Address, { count: number; why: string }>()
  readonly #answered = new Set<Address>()
  #timer: NodeJS.Timeout | undefined
  #ended = false

  constructor(addresses: readonly Address[], options: ProbeOptions = PROBE) {
    this.#addresses = addresses
    this.#options = options
  }

  start(): void {
    if (this.#addresses.length > 0) void this.#round()
  }

  end(): void {
    this.#ended = true
    clearTimeout(this.#timer)
  }

  get finding(): ProbeFinding {
    for (const address of this.#addresses) {
      const failed = this.#failures.get(address)
      if (failed !== undefined && failed.count >= this.#options.failures)
        return { verdict: 'silent', address, why: failed.why }
    }
    const isComplete = this.#addresses.length > 0 && this.#addresses.every((address) => this.#answered.has(address))
    return { verdict: isComplete ? 'answers' : 'undecided' }
  }

  async #round(): Promise<void> {
    await Promise.all(
      this.#addresses.map(async (address) => {
        const why = await askReadyz(address, this.#options)
        if (why === undefined) {
          this.#failures.delete(address)
          this.#answered.add(address)
        } else {
          this.#failures.set(address, { count: (this.#failures.get(address)?.count ?? 0) + 1, why })
        }
      }),
    )
    if (this.#ended) return
    this.#timer = setTimeout(() => void this.#round(), this.#options.everyMs)
    this.#timer.unref()
  }
}
