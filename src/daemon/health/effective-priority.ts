/**
 * The effective priority of a router: the sum of base priority and trackers, or 1 while the router yields. This file
 * decides which of the two is in force, and until when. This file knows nothing about the trackers, whether a router
 * may yield, and the consequences of a changed priority. The router reads the effective priority.
 */
import type { Millis } from '../../wire/units.ts'
import { type Replaced, type Tracking, untracked } from './tracking.ts'

/** Lowest priority of a Backup (RFC 9568 §5.2.4). */
export const YIELDING = 1

/**
 * Effective priority of a router. `assured` is the priority if all checks that raise it changed their result;
 * `undefined` if no check raises it.
 */
export type InForce = { readonly priority: number; readonly assured: number | undefined }

export class EffectivePriority {
  #tracking: Tracking
  #yieldingUntil: Millis | undefined
  #replaced: Replaced | undefined

  constructor(assigned: number) {
    this.#tracking = untracked(assigned)
  }

  /** End of the yield, until which the effective priority is 1; `undefined` if the router does not yield. */
  get yieldingUntil(): Millis | undefined {
    return this.#yieldingUntil
  }

  /** Priority and faults that follow from base priority and trackers, as computed last. */
  get tracking(): Tracking {
    return this.#tracking
  }

  /**
   * Trackers that a reload removed and that count until the new trackers have results; `undefined` if no removed
   * tracker counts.
   */
  get replaced(): Replaced | undefined {
    return this.#replaced
  }

  get inForce(): InForce {
    if (this.#yieldingUntil !== undefined) return { priority: YIELDING, assured: undefined }
    const { assured, priority } = this.#tracking
    return { priority, assured: assured < priority ? assured : undefined }
  }

  track(tracking: Tracking): void {
    this.#tracking = tracking
  }

  /** Adopts the base priority after a reload that left the trackers the same. */
  rebase(priority: number): void {
    this.#tracking = { ...this.#tracking, priority }
  }

  keepReplaced(replaced: Replaced | undefined): void {
    this.#replaced = replaced
  }

  yieldUntil(until: Millis): void {
    this.#yieldingUntil = until
  }

  /** Returns true once when the time of a yield has ended. */
  endYield(now: Millis): boolean {
    if (this.#yieldingUntil === undefined || now < this.#yieldingUntil) return false
    this.#yieldingUntil = undefined
    return true
  }
}
