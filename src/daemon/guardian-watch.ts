/**
 * Engine and guardian beat to each other (design.md §2). Decided here: when a guardian counts as lost, which is no more
 * than a look at the clock says: this process, or the whole container, may have been the one that was frozen. Refuses to
 * know what an engine does that has lost its guardian.
 */
import type { Millis } from '../wire/units.ts'
import type { Schedule } from './alarm.ts'
import type { Clock, LastWillPort } from './ports.ts'

const LOOK_EVERY = 250
/** A look that somebody else's alarm makes early saves the one that would have woken us: so far apart at least. */
const GLANCE_AFTER = 150
/** Later than that a look says that we did not run ourselves. */
const LATE = 2 * LOOK_EVERY
const LEAST_PATIENCE = 1_000

export type GuardianWatchContext = {
  readonly clock: Clock
  readonly will: LastWillPort
  readonly schedule: Schedule
  /** Before each look. */
  readonly onLook: () => void
  /** Of all addresses that have one, in seconds. */
  readonly shortestLifetime: () => number | undefined
  /** Once. `silence`: for so many ms; undefined: it is gone. */
  readonly onLost: (silence: number | undefined) => void
}

export class GuardianWatch {
  readonly #context: GuardianWatchContext
  #cancel: (() => void) | undefined
  #lookedAt = 0
  /** It was heard, or could not be, because we slept. */
  #heardAt = 0

  constructor(context: GuardianWatchContext) {
    this.#context = context
  }

  /** Whoever was started without one, or without shared memory, goes on as he is. */
  start(): void {
    if (!this.#context.will.guarded) return
    this.#lookedAt = this.#context.clock.now()
    this.#heardAt = this.#lookedAt
    this.#look()
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }

  /** We are awake anyway, and have looked at the clock: the same look, if it is due soon. Never later than without. */
  glance(now: Millis): void {
    if (this.#cancel === undefined || now - this.#lookedAt < GLANCE_AFTER) return
    this.stop()
    this.#judge()
  }

  #look(): void {
    this.#cancel = undefined
    this.#context.onLook()
    this.#judge()
  }

  #judge(): void {
    const { clock, onLost, schedule, shortestLifetime, will } = this.#context
    const now = clock.now()
    const silence = will.beat(now)
    if (silence === undefined) return onLost(undefined)
    if (now - this.#lookedAt > LATE) this.#heardAt = now
    this.#lookedAt = now
    this.#heardAt = Math.max(this.#heardAt, now - silence)
    const patience = Math.max(LEAST_PATIENCE, ((shortestLifetime() ?? 0) * 1000) / 2)
    if (now - this.#heardAt > patience) return onLost(now - this.#heardAt)
    this.#cancel = schedule(() => this.#look(), LOOK_EVERY)
  }
}
