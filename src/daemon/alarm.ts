/**
 * Keeps one timer for the nearest deadline of all routers and other parts of the engine. The timer is only a hint; the
 * deadline decides. If the timer fires early, it is set again. If the timer fires late, the listener drains the sockets
 * before a deadline expires. This file knows nothing about which parts have deadlines, and which kind of timer is used
 * (docs/adr/0040).
 */
import { type Millis, millis } from '../wire/units.ts'
import type { Clock, MakeWakeUp, WakeUp } from './ports.ts'

/**
 * Longest time of one timer in milliseconds. setTimeout has a limit of 31 bits, and after a suspension the engine
 * should soon read the clock.
 */
const LONGEST_WAIT = 60_000
/** Milliseconds until `onDue` is called again, if the deadline is still in the past after a call. */
const LEAST_WAIT = 1

/** Starts a timer: setTimeout, or a virtual one in tests. Returns the function that cancels it. */
export type Schedule = (callback: () => void, wait: number) => () => void

export const onTheEventLoop: Schedule = (callback, wait) => {
  const timer = setTimeout(callback, wait)
  return () => clearTimeout(timer)
}

/**
 * Makes a wake-up from `schedule`. The wait is rounded to the nearest millisecond. If it were rounded down, nearly
 * every deadline would need a second timer and would not be earlier. Measured at 10 ms: rounded down 1.9 ticks and 0.6
 * ms late, to the nearest 1.25 ticks and 0.55 ms, rounded up 1.0 tick and 0.8 ms.
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

  /**
   * Creates an alarm without a deadline. `onDue` receives the present time and the milliseconds by which the alarm is
   * late.
   */
  constructor(
    clock: Pick<Clock, 'now'>,
    onDue: (now: Millis, lateMs: number) => void,
    makeWakeUp: MakeWakeUp = wakeUpBy(onTheEventLoop),
  ) {
    this.#clock = clock
    this.#onDue = onDue
    this.#wakeUp = makeWakeUp(() => this.#tick())
  }

  /** Replaces the deadline of the engine's alarm; `undefined`: the alarm has no deadline. */
  set(at: Millis | undefined): void {
    if (at === this.#at && this.#isSet) return
    this.#at = at
    if (at !== undefined) return this.#arm(at, this.#clock.now())
    this.#isSet = false
    this.#wakeUp.clear()
  }

  /** Moves the deadline of the engine's alarm to `at` if `at` is earlier. */
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
