/** The turns of the engine, as the parts need them that something else than the alarm wakes; turn-loop.ts has them. */
import type { Millis } from '../wire/units.ts'

export type Turns = {
  /** Returns the time of the turn. Nothing that waited has been read yet. */
  begin(): Millis
  /** Ends a turn for which something else than the alarm has woken the engine. */
  endWoken(now: Millis): void
  /** Orders wait for the end of the turn. */
  readonly isBusy: boolean
  /** Brings the next alarm forward to `at`. */
  alarmBy(at: Millis): void
}
