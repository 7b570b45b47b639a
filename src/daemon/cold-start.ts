/**
 * A process that has just begun loads and compiles for a while after its routers run, in pauses of 30 to 80 ms: what takes
 * over then at 10 ms misses its own deadline, and the guardian takes its addresses off again. Decided here: that a router
 * of such an interval leaves an Active that is well alone until the process is warm, or LONGEST_HOLD is over, by means of
 * preemptDelay (docs/adr/0057). Who is silent or lets go is followed as ever. Refuses to know what is loaded.
 */
import { centis, type Millis, millis } from '../wire/units.ts'
import type { Router } from './router/router.ts'

/** A process that never says that it is warm is not held for ever. */
export const LONGEST_HOLD = millis(2_000)
/** From here on three intervals, the deadline of the last will, are longer than the pauses of a start. */
const LONG = centis(10)

export class ColdStart {
  /** By name, what is configured. */
  readonly #held = new Map<string, Millis>()

  /** Before it starts. */
  hold(router: Router): void {
    const { advertisementInterval, preemptDelay } = router.parameters
    if (advertisementInterval >= LONG || preemptDelay >= LONGEST_HOLD) return
    this.#held.set(router.name, preemptDelay)
    router.startWithDelay(LONGEST_HOLD)
  }

  /** The process is warm. What a reload, or another interface, has set meanwhile stays. */
  release(routers: ReadonlyMap<string, Router>, now: Millis): void {
    for (const [name, preemptDelay] of this.#held) {
      const router = routers.get(name)
      if (router?.parameters.preemptDelay === LONGEST_HOLD) router.delayPreemption(preemptDelay, now)
    }
    this.#held.clear()
  }
}
