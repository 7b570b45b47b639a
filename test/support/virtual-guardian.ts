/**
 * The guardian of a virtual node and the kernel's lifetimes, modelled after docs/architecture.md: it holds the deadline of the
 * last will, renews the addresses, and may itself be frozen; the kernel may not. It decides when, and knows neither
 * addresses nor packets: the node does what it is told. All moments are LAN time.
 */
import { millis } from '../../src/wire/units.ts'

export type GuardianOrder = 'execute' | 'expire'

const RENEWALS = 3

export class VirtualGuardian {
  /** The shared word: executed, and the engine has not seen it yet. */
  executed = false
  readonly #lifetime: number
  /** By member: the earliest executes for all. */
  readonly #deadlines = new Map<string, number>()
  #expiresAt: number | undefined
  #renewAt = Number.POSITIVE_INFINITY
  #frozenUntil = Number.NEGATIVE_INFINITY

  constructor(activeDownInterval: number) {
    this.#lifetime = Math.max(2000, Math.ceil(activeDownInterval / 1000) * 1000)
  }

  freeze(now: number, duration: number): void {
    this.#frozenUntil = millis(now + duration)
  }

  /** An advertisement has gone out; without another one in time the will is executed. */
  promise(member: string, deadline: number): void {
    this.#deadlines.set(member, deadline)
  }

  installed(now: number): void {
    this.#expiresAt = now + this.#lifetime
    this.#renewAt = now + this.#lifetime / RENEWALS
  }

  /** The engine answers for nothing any more. */
  withdraw(): void {
    this.#deadlines.clear()
    this.#expiresAt = undefined
    this.#renewAt = Number.POSITIVE_INFINITY
  }

  get wakesAt(): number {
    const own = Math.max(this.#frozenUntil, Math.min(this.#renewAt, ...this.#deadlines.values()))
    return Math.min(own, this.#expiresAt ?? Number.POSITIVE_INFINITY)
  }

  /** What is due at `now`, once; renewals it does itself. */
  run(now: number): GuardianOrder | undefined {
    if (this.#expiresAt !== undefined && this.#expiresAt <= now) {
      this.#expiresAt = undefined
      this.#renewAt = Number.POSITIVE_INFINITY
      return 'expire'
    }
    if (this.#frozenUntil > now) return undefined
    if (Math.min(...this.#deadlines.values()) <= now) {
      this.withdraw()
      this.executed = true
      return 'execute'
    }
    if (this.#renewAt <= now) this.installed(now)
    return undefined
  }
}
