/**
 * An engine that woke late, for the journal: the machine did not give it the processor, or it was stopped for a moment.
 * Decided here: what is late (half an interval, as for the alert HoldfastTimerLate), and how many events there are. An
 * absence so long that others may have taken over is guard/absence-watch.ts's.
 */
import type { Millis } from '../../wire/units.ts'
import type { Chronicle } from './chronicle.ts'
import { RATES, suppressedField, TokenBucket } from './token-bucket.ts'

/** Milliseconds. A busy machine is late by some all day; half a second is late for every router. */
const LEAST = 50
const MOST = 500

export class LatenessNews {
  readonly #chronicle: Chronicle
  readonly #bucket = new TokenBucket(RATES.lateness)

  constructor(chronicle: Chronicle) {
    this.#chronicle = chronicle
  }

  /** `shortest` returns the shortest interval of all routers in milliseconds; called only when it may matter. */
  note(late: number, shortest: () => number, now: Millis): void {
    if (late < LEAST || late < Math.min(MOST, shortest() / 2)) return
    const refused = this.#bucket.take(now)
    if (refused === undefined) return
    this.#chronicle.record({ kind: 'engineLate', lateMs: Math.round(late), ...suppressedField(refused) })
  }
}
