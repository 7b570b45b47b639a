/**
 * Records in the journal that the engine woke late: the machine gave it no CPU time, or it was stopped for a moment.
 * This file decides which delay is late (half an interval, as for the alert HoldfastTimerLate), and the limit of the
 * events. An absence in which other routers may have taken over is handled in guard/absence-watch.ts.
 */
import type { Millis } from '../../wire/units.ts'
import type { Chronicle } from './chronicle.ts'
import { RATES, suppressedField, TokenBucket } from './token-bucket.ts'

/**
 * Limits of a delay in milliseconds. On a busy machine the engine is always a little late. Half a second is late for
 * every router.
 */
const LEAST = 50
const MOST = 500

export class LatenessNews {
  readonly #chronicle: Chronicle
  readonly #bucket = new TokenBucket(RATES.lateness)

  constructor(chronicle: Chronicle) {
    this.#chronicle = chronicle
  }

  /**
   * Records a delay of the engine. `late` and `now` are milliseconds. `shortest` returns the shortest interval of all
   * routers in milliseconds; it is called only if the delay may matter.
   */
  note(late: number, shortest: () => number, now: Millis): void {
    if (late < LEAST || late < Math.min(MOST, shortest() / 2)) return
    const refused = this.#bucket.take(now)
    if (refused === undefined) return
    this.#chronicle.record({ kind: 'engineLate', lateMs: Math.round(late), ...suppressedField(refused) })
  }
}
