/**
 * Limits how often an address is installed again after another program removed it. Without a limit, holdfast and the
 * other program could continue for ever. After too many restorations in a minute there is a pause. Every further pause
 * is twice as long, until a minute passes without a removal. Only additions count: an extra address is removed however
 * often it appears, because it would mean two holders. This file knows nothing about what a pause means for the router.
 */
import type { Address } from '../../wire/address.ts'
import { type Millis, plus } from '../../wire/units.ts'

/** Limit of restorations of one address in a minute. */
export const MOST_RESTORATIONS = 30
const WINDOW = 60_000
const PAUSE_FIRST = 1_000
const PAUSE_LAST = 60_000

export type Pause = { readonly address: Address; readonly until: Millis }

export class RestorationLimit {
  readonly #restoredAt = new Map<Address, readonly Millis[]>()
  #next = PAUSE_FIRST
  /** Time of the last restoration of an address, or end of the last pause. */
  #disturbedUntil: Millis | undefined
  #pause: Pause | undefined

  /** Pause in which no address is installed again; `undefined` outside of a pause. */
  get pause(): Pause | undefined {
    return this.#pause
  }

  /**
   * Tells whether a removed address may be installed again now, and counts that installation. If the limit is reached,
   * a pause begins or continues.
   */
  allow(address: Address, now: Millis): boolean {
    if (this.#pause !== undefined) return false
    if (this.#disturbedUntil !== undefined && now - this.#disturbedUntil >= WINDOW) this.#next = PAUSE_FIRST
    this.#disturbedUntil = now
    const recent = (this.#restoredAt.get(address) ?? []).filter((at) => now - at < WINDOW)
    if (recent.length < MOST_RESTORATIONS) {
      this.#restoredAt.set(address, [...recent, now])
      return true
    }
    this.#pause = { address, until: plus(now, this.#next) }
    this.#disturbedUntil = this.#pause.until
    this.#next = Math.min(2 * this.#next, PAUSE_LAST)
    return false
  }

  /** Returns true once when the pause of restorations is over. */
  takeEnd(now: Millis): boolean {
    if (this.#pause === undefined || now < this.#pause.until) return false
    this.#pause = undefined
    return true
  }
}
