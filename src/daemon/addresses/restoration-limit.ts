/**
 * How often an address is put back that another program removes. A program that removes it again and again would make
 * both spin for ever; so after a number of restorations in a minute there is a pause, which doubles until a minute was
 * quiet. Only additions are counted: an address that is too many here is removed however often it comes, because a
 * pause of that would be two holders. Refuses to know what a pause means for the router.
 */
import type { Address } from '../../wire/address.ts'
import { type Millis, plus } from '../../wire/units.ts'

/** Restorations of one address in a minute. */
export const MOST_RESTORATIONS = 30
const WINDOW = 60_000
const PAUSE_FIRST = 1_000
const PAUSE_LAST = 60_000

export type Pause = { readonly address: Address; readonly until: Millis }

export class RestorationLimit {
  readonly #restoredAt = new Map<Address, readonly Millis[]>()
  #next = PAUSE_FIRST
  /** Time of the last restoration, or the end of the pause that followed. */
  #disturbedUntil: Millis | undefined
  #pause: Pause | undefined

  /** `undefined`: no address is held back. */
  get pause(): Pause | undefined {
    return this.#pause
  }

  /** Returns true if the address may be put back now, and counts it. Otherwise a pause begins, or goes on. */
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

  /** Returns true once when the pause is over. */
  takeEnd(now: Millis): boolean {
    if (this.#pause === undefined || now < this.#pause.until) return false
    this.#pause = undefined
    return true
  }
}
