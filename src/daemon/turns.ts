/** Turns for parts that are woken by something other than the alarm; turn-loop.ts implements them. */
import type { Millis } from '../wire/units.ts'

export type Turns = {
  /** Begins a turn and returns the time of the turn. No waiting packet has been read yet. */
  begin(): Millis
  /** Ends a turn that was not started by the alarm. */
  endWoken(now: Millis): void
  /** True if orders wait for the end of the turn. */
  readonly isBusy: boolean
  /** Moves the next alarm forward to `at`. */
  alarmBy(at: Millis): void
}
