/**
 * Models the guardian of a node on the virtual LAN, and the kernel's lifetimes of addresses, after
 * docs/architecture.md. The guardian holds the deadlines of the cleanup plan and renews the addresses. A test may
 * freeze the guardian, but not the kernel. The model decides when a plan is executed, and knows neither addresses nor
 * packets: the node carries out its orders. All times are LAN time in ms.
 */
import { millis } from '../../src/wire/units.ts'

export type GuardianOrder = 'execute' | 'expire'

const RENEWALS = 3

export class VirtualGuardian {
  /** True if the guardian has executed the cleanup plan and the engine has not noticed that yet. */
  executed = false
  readonly #lifetime: number
  /**
   * Deadline of each virtual router by name. When the earliest deadline passes, the cleanup plan is executed for all
   * routers.
   */
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

  /**
   * Sets the deadline of a virtual router after it has sent an advertisement. If no later deadline is set in time, the
   * cleanup plan is executed.
   */
  promise(member: string, deadline: number): void {
    this.#deadlines.set(member, deadline)
  }

  installed(now: number): void {
    this.#expiresAt = now + this.#lifetime
    this.#renewAt = now + this.#lifetime / RENEWALS
  }

  /** Removes all deadlines, because the engine answers for no address any longer. */
  withdraw(): void {
    this.#deadlines.clear()
    this.#expiresAt = undefined
    this.#renewAt = Number.POSITIVE_INFINITY
  }

  get wakesAt(): number {
    const own = Math.max(this.#frozenUntil, Math.min(this.#renewAt, ...this.#deadlines.values()))
    return Math.min(own, this.#expiresAt ?? Number.POSITIVE_INFINITY)
  }

  /**
   * Returns the order that is due at the time `now`, and returns it only once; `undefined` if none is due. The guardian
   * renews the addresses without an order.
   */
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
