/**
 * One Node timer for the nearest deadline of everything (design.md §2: a timer is a hint, a deadline is a fact).
 * Early ticks only re-arm; what is late is the listener's business, who drains before he decides. This file does not
 * know whose deadlines they are.
 */
import type { Millis } from '../wire/units.ts'
import type { Clock } from './ports.ts'

/** Longer waits are cut: setTimeout takes 31 bits, and a suspended machine should look at its clock now and then. */
const LONGEST_WAIT = 60_000

/** setTimeout, or a test's virtual one; the result takes it back. */
export type Schedule = (callback: () => void, wait: number) => () => void

export const onTheEventLoop: Schedule = (callback, wait) => {
  const timer = setTimeout(callback, wait)
  return () => clearTimeout(timer)
}

export class Alarm {
  readonly #clock: Pick<Clock, 'now'>
  readonly #onDue: (now: Millis) => void
  #at: Millis | undefined
  readonly #schedule: Schedule
  /** Set while a timer runs. */
  #cancel: (() => void) | undefined

  constructor(clock: Pick<Clock, 'now'>, onDue: (now: Millis) => void, schedule: Schedule = onTheEventLoop) {
    this.#clock = clock
    this.#onDue = onDue
    this.#schedule = schedule
  }

  /** Replaces the deadline; undefined = nothing to wait for. */
  set(at: Millis | undefined): void {
    if (at === this.#at && this.#cancel !== undefined) return
    this.#at = at
    this.#cancel?.()
    this.#cancel = undefined
    if (at !== undefined) this.#arm(at - this.#clock.now())
  }

  /** Another deadline, besides the one there is. */
  sooner(at: Millis): void {
    if (this.#at === undefined || at < this.#at) this.set(at)
  }

  #arm(wait: number): void {
    // Whole milliseconds, to the nearest: rounded down, nearly every deadline costs a second tick and is no earlier
    // for it (measured at 10 ms: 1.9 ticks and 0.6 ms late; so 1.25 ticks and 0.55 ms; rounded up 1.0 and 0.8 ms).
    this.#cancel = this.#schedule(() => this.#tick(), Math.min(Math.max(Math.round(wait), 1), LONGEST_WAIT))
  }

  #tick(): void {
    this.#cancel = undefined
    if (this.#at === undefined) return
    const now = this.#clock.now()
    if (now < this.#at) return this.#arm(this.#at - now)
    this.#at = undefined
    this.#onDue(now)
  }
}
