/** The clock of the engine and its one timer. */
import type { Millis } from '../../wire/units.ts'

/** Monotonic milliseconds with fractions (CLOCK_MONOTONIC). */
export type Clock = {
  now(): Millis
  /**
   * Returns the time for which the machine was suspended, up to the last call of now(). A turn reads the clocks once.
   */
  asleep(): Millis
}

/** Timer that fires once, at the last time that was set or a little earlier. `now` is the present time. */
export type WakeUp = {
  set(at: Millis, now: Millis): void
  clear(): void
}
export type MakeWakeUp = (onTick: () => void) => WakeUp
