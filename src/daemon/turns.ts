/** Turns for parts of the engine that are not woken by the alarm. The module turn-loop.ts implements them. */
import type { Millis } from '../wire/units.ts'

export type Turns = {
  /** Begins a turn and returns its time. No waiting packet has been read at this point. */
  begin(): Millis
  /** Ends a turn that the alarm did not start. */
  endWoken(now: Millis): void
  /**
   * Ends a turn that changed no router. The regular work of the turn is done, so that no wake-up follows for that work.
   */
  endUnchanged(now: Millis): void
  /** True if orders of routers (packets, address changes) wait for the end of the turn. */
  readonly isBusy: boolean
  /** Makes sure that the engine's alarm comes at `at` or earlier. */
  alarmBy(at: Millis): void
}
