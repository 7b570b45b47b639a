/**
 * The guardian of a virtual node and the kernel's lifetimes, modelled after docs/architecture.md. The guardian holds
 * the deadline of the cleanup plan and renews the addresses. It may itself be frozen; the kernel may not. It decides
 * when, and knows neither addresses nor packets: the node carries out its orders. All moments are LAN time.
 */
import { millis } from '../../src/wire/units.ts'

export type GuardianOrder = 'execute' | 'expire'

const RENEWALS = 3

export class VirtualGuardian {
  /** The shared word: the plan is executed, and the engine has not seen it yet. */
  executed = false
  readonly #lifetime: number
  /** Deadlines by member: the earliest executes for all. */
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

  /** Sets the deadline after a sent advertisement. Without another one in time the cleanup plan is executed. */
  promise(member: string, deadline: number): void {
    this.#deadlines.set(member, deadline)
  }

  installed(now: number): void {
    this.#expiresAt = now + this.#lifetime
    this.#renewAt = now + this.#lifetime / RENEWALS
  }

  /** Withdraws all deadlines: the engine answers for no address. */
  withdraw(): void {
    this.#deadlines.clear()
    this.#expiresAt = undefined
    this.#renewAt = Number.POSITIVE_INFINITY
  }

  get wakesAt(): number {
    const own = Math.max(this.#frozenUntil, Math.min(this.#renewAt, ...this.#deadlines.values()))
    return Math.min(own, this.#expiresAt ?? Number.POSITIVE_INFINITY)
  }

  /** Returns the order that is due at `now`, once. Renews addresses by itself. */
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
