/**
 * One timer for the nearest deadline of all (a timer is a hint, a deadline is a fact). An early tick only re-arms; a
 * late one is the listener's business, which drains before it decides. This file does not know the owners of the
 * deadlines, nor what wakes it (docs/adr/0040).
 */
import { type Millis, millis } from '../wire/units.ts'
import type { Clock, MakeWakeUp, WakeUp } from './ports.ts'

/**
 * Milliseconds. Longer waits are cut: setTimeout takes 31 bits, and a suspended machine should look at its clock now
 * and then.
 */
const LONGEST_WAIT = 60_000
/** Milliseconds before the listener is called again that has not moved a deadline in the past. */
const LEAST_WAIT = 1

/** setTimeout, or a test's virtual one. Returns how to cancel it. */
export type Schedule = (callback: () => void, wait: number) => () => void

export const onTheEventLoop: Schedule = (callback, wait) => {
  const timer = setTimeout(callback, wait)
  return () => clearTimeout(timer)
}

/**
 * Rounds to the nearest millisecond: rounded down, nearly every deadline costs a second tick and is no earlier for it
 * (measured at 10 ms: 1.9 ticks and 0.6 ms late; to the nearest 1.25 ticks and 0.55 ms; rounded up 1.0 and 0.8 ms).
 */
export const wakeUpBy =
  (schedule: Schedule): MakeWakeUp =>
  (onTick) => {
    let cancel: (() => void) | undefined
    return {
      set(at, now) {
        cancel?.()
        cancel = schedule(onTick, Math.max(Math.round(at - now), 1))
      },
      clear() {
        cancel?.()
        cancel = undefined
      },
    }
  }

export class Alarm {
  readonly #clock: Pick<Clock, 'now'>
  readonly #onDue: (now: Millis, lateMs: number) => void
  readonly #wakeUp: WakeUp
  #at: Millis | undefined
  #isSet = false

  /** `onDue` gets the milliseconds by which it is late. */
  constructor(
    clock: Pick<Clock, 'now'>,
    onDue: (now: Millis, lateMs: number) => void,
    makeWakeUp: MakeWakeUp = wakeUpBy(onTheEventLoop),
  ) {
    this.#clock = clock
    this.#onDue = onDue
    this.#wakeUp = makeWakeUp(() => this.#tick())
  }

  /** Replaces the deadline; `undefined` = nothing to wait for. */
  set(at: Millis | undefined): void {
    if (at === this.#at && this.#isSet) return
    this.#at = at
    if (at !== undefined) return this.#arm(at, this.#clock.now())
    this.#isSet = false
    this.#wakeUp.clear()
  }

  /** Adds a deadline to the one there is. */
  sooner(at: Millis): void {
    if (this.#at === undefined || at < this.#at) this.set(at)
  }

  #arm(at: Millis, now: Millis): void {
    this.#isSet = true
    this.#wakeUp.set(at <= now ? millis(now + LEAST_WAIT) : millis(Math.min(at, now + LONGEST_WAIT)), now)
  }

  #tick(): void {
    this.#isSet = false
    if (this.#at === undefined) return
    const now = this.#clock.now()
    if (now < this.#at) return this.#arm(this.#at, now)
    const lateMs = now - this.#at
    this.#at = undefined
    this.#onDue(now, lateMs)
  }
}
