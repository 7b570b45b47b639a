/**
 * The priority that a router goes by: the result of base priority and trackers, or 1 while the operator has the router
 * yield. Decided here: which of the two is in force, and until when. Refuses to know what is tracked, whether a router may
 * yield, and what another priority leads to; the router reads what is in force and acts on it.
 */
import type { Millis } from '../../wire/units.ts'
import { type Replaced, type Tracking, untracked } from './tracking.ts'

/** RFC 9568 §5.2.4: the lowest priority of a Backup. */
export const YIELDING = 1

/** `assured`: the priority without checks whose next result could lower it; `undefined` if it is the same. */
export type InForce = { readonly priority: number; readonly assured: number | undefined }

export class EffectivePriority {
  #tracking: Tracking
  #yieldingUntil: Millis | undefined
  #replaced: Replaced | undefined

  constructor(assigned: number) {
    this.#tracking = untracked(assigned)
  }

  /** Until then the effective priority is 1; `undefined` if the router does not yield. */
  get yieldingUntil(): Millis | undefined {
    return this.#yieldingUntil
  }

  /** Last result of base priority and trackers. */
  get tracking(): Tracking {
    return this.#tracking
  }

  /** Trackers that a reload removed, while nothing is known of those that it brought. */
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

  /** A reload: another base priority, with trackers as they are. */
  rebase(priority: number): void {
    this.#tracking = { ...this.#tracking, priority }
  }

  keepReplaced(replaced: Replaced | undefined): void {
    this.#replaced = replaced
  }

  yieldUntil(until: Millis): void {
    this.#yieldingUntil = until
  }

  /** Returns true once, when the time of a yield is over. */
  endYield(now: Millis): boolean {
    if (this.#yieldingUntil === undefined || now < this.#yieldingUntil) return false
    this.#yieldingUntil = undefined
    return true
  }
}
