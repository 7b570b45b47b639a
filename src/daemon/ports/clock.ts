/** The clock of the engine and its one timer. */
import type { Millis } from '../../wire/units.ts'

/** Monotonic milliseconds with fractions (CLOCK_MONOTONIC). */
export type Clock = {
  now(): Millis
  /** Returns for how long the machine was suspended until now() was last called: a turn reads the clocks once. */
  asleep(): Millis
}

/** Ticks once, at the moment it was last set to or a little earlier; `now` is the time of the clock. */
export type WakeUp = {
  set(at: Millis, now: Millis): void
  clear(): void
}
export type MakeWakeUp = (onTick: () => void) => WakeUp
