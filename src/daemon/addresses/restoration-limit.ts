/**
 * How often an address is put back that somebody else takes away. An agent that removes it again and again would make
 * holdfast and itself spin for ever; so after a number of restorations in a minute there is a pause, which doubles
 * until a minute was quiet. Only additions are counted: an address that is too many here is removed however often it
 * comes, because a pause of that would be two owners. Refuses to know what a pause means for the router.
 */
import type { Address } from '../../wire/address.ts'
import { type Millis, plus } from '../../wire/units.ts'

/** Of one address, in a minute. */
export const MOST_RESTORATIONS = 30
const WINDOW = 60_000
const PAUSE_FIRST = 1_000
const PAUSE_LAST = 60_000

export type Pause = { readonly address: Address; readonly until: Millis }

export class RestorationLimit {
  readonly #restoredAt = new Map<Address, readonly Millis[]>()
  #next = PAUSE_FIRST
  /** The last time that anything was amiss, or the end of the pause that followed. */
  #disturbedUntil: Millis | undefined
  #pause: Pause | undefined

  /** Undefined: nothing is held back. */
  get pause(): Pause | undefined {
    return this.#pause
  }

  /** True when the address may be put back now, which is then counted. Otherwise a pause begins, or goes on. */
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

  /** True when the pause is over now; once. */
  takeEnd(now: Millis): boolean {
    if (this.#pause === undefined || now < this.#pause.until) return false
    this.#pause = undefined
    return true
  }
}
