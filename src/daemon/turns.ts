/** Turns for parts of the engine that are not woken by the alarm. The module turn-loop.ts implements them. */
import type { Millis } from '../wire/units.ts'

export type Turns = {
  /** Begins a turn and returns its time. No waiting packet has been read at this point. */
  begin(): Millis
  /** Ends a turn that the alarm did not start. */
  endWoken(now: Millis): void
  /** Ends a turn that changed nothing. Regular work is done, so that the engine is not woken again for this work. */
  endUnchanged(now: Millis): void
  /** True if orders of routers wait for the end of the turn. */
  readonly isBusy: boolean
  /** Makes sure that the alarm comes at `at` or earlier. */
  alarmBy(at: Millis): void
}
