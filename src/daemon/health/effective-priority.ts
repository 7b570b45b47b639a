/**
 * The priority that a router goes by: what base and trackers come to, or 1 while the operator has it yield (docs/architecture.md,
 * Leaving). Decided here: which of the two is in force, and until when. Refuses to know what is tracked, whether a
 * router may yield, and what another priority leads to.
 */
import type { EventOf } from '../../events/event.ts'
import type { Millis } from '../../wire/units.ts'
import type { Router } from '../router.ts'
import type { Recorder } from '../telemetry/recorder.ts'
import { RATES, TokenBucket } from '../telemetry/token-bucket.ts'
import { type Replaced, type Tracking, untracked } from './tracking.ts'

export class EffectivePriority {
  /** What a reload took away and did not replace by anything known yet. */
  replaced: Replaced | undefined
  readonly #router: Router
  readonly #recorder: Recorder
  /** What base priority and trackers come to; the effective one while the router does not yield. */
  #tracking: Tracking
  #yieldingUntil: Millis | undefined
  readonly #bucket = new TokenBucket(RATES.priority)
  /** What the log said last, when that is not how things are. */
  #toldLast: number | undefined
  #reason: 'tracking' | 'yieldOver' = 'tracking'

  constructor(router: Router, assigned: number, recorder: Recorder) {
    this.#router = router
    this.#tracking = untracked(assigned)
    this.#recorder = recorder
  }

  /** Until then the effective priority is 1; undefined = it does not yield. */
  get yieldingUntil(): Millis | undefined {
    return this.#yieldingUntil
  }

  get tracking(): Tracking {
    return this.#tracking
  }

  /** Base and trackers come to something else. */
  assign(tracking: Tracking, now: Millis): void {
    this.#tracking = tracking
    if (this.#yieldingUntil === undefined) this.#take('priority', now)
  }

  /** The same for a reload, which tells everything at once. Returns what is in force then. */
  reconfigure(priority: number): number {
    this.#tracking = { ...this.#tracking, priority }
    const before = this.#router.parameters.priority
    if (this.#yieldingUntil !== undefined) return before
    if (priority !== before) this.#record('reload', before, priority)
    return priority
  }

  /** The priority alone, and without a word: what is said is the release. The group posts the event. */
  lowerUntil(until: Millis): void {
    this.#yieldingUntil = until
    this.#record('yield', this.#router.parameters.priority, 1)
    this.#router.parameters = { ...this.#router.parameters, priority: 1, assured: undefined }
  }

  /** Of one that yields already. */
  yieldUntil(until: Millis): void {
    this.#yieldingUntil = until
  }

  endYield(now: Millis): void {
    if (this.#yieldingUntil === undefined || now < this.#yieldingUntil) return
    this.#yieldingUntil = undefined
    this.#reason = 'yieldOver'
    this.#take('priority after yielding', now)
    this.#reason = 'tracking'
  }

  #take(what: string, now: Millis): void {
    const router = this.#router
    const { priority } = this.#tracking
    const assured = this.#tracking.assured < priority ? this.#tracking.assured : undefined
    const previous = router.parameters.priority
    if (priority === previous && assured === router.parameters.assured) return
    router.parameters = { ...router.parameters, priority, assured }
    if (priority === previous) return
    this.#tell(what, previous, now)
    router.post({ kind: 'priorityChanged', previous }, now)
  }

  /** What the log says last must be so. */
  catchUp(now: Millis): void {
    if (this.#toldLast !== undefined && this.#bucket.has(now)) this.#tell('priority', this.#toldLast, now)
  }

  #tell(what: string, before: number, now: Millis): void {
    const { name, parameters, title } = this.#router
    const { priority } = parameters
    const previous = this.#toldLast ?? before
    if (!this.#bucket.has(now)) {
      this.#toldLast = previous
      return
    }
    this.#toldLast = undefined
    if (previous === priority) return
    this.#bucket.spend(now)
    const message = `${title}: effective ${what} ${previous} → ${priority}`
    this.#recorder.log('info', message, { router: name, previous, priority })
    this.#record(this.#reason, previous, priority)
  }

  #record(why: EventOf<'priorityChanged'>['why'], from: number, to: number): void {
    const { io, name: router, parameters, state } = this.#router
    this.#recorder.chronicle.record({
      ...{ kind: 'priorityChanged', router, from, to, why },
      ...(io === undefined ? {} : { self: parameters.primaryAddress }),
      active: state.name === 'Active',
    })
  }
}
