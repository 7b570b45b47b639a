/**
 * A process that has just begun loads and compiles for a while after its routers run, in pauses of 30 to 80 ms: a
 * router that takes over then at 10 ms misses its own deadline, and the guardian removes its addresses again. Decided
 * here: that a router of such an interval leaves a healthy Active alone until the process is warm, or LONGEST_HOLD is
 * over, by means of preemptDelay (docs/adr/0057). An Active that is silent or releases is followed as ever. Refuses to
 * know what is loaded.
 */
import { centis, type Millis, millis } from '../wire/units.ts'
import type { Router } from './router/router.ts'

/** Milliseconds: a process that never reports that it is warm is not held for ever. */
export const LONGEST_HOLD = millis(2_000)
/** From here on three intervals, the deadline of the cleanup plan, are longer than the pauses of a start. */
const LONG = centis(10)

export class ColdStart {
  /** Configured preemptDelay, by name of the router. */
  readonly #held = new Map<string, Millis>()

  /** Call it before the router starts. */
  hold(router: Router): void {
    const { advertisementInterval, preemptDelay } = router.parameters
    if (advertisementInterval >= LONG || preemptDelay >= LONGEST_HOLD) return
    this.#held.set(router.name, preemptDelay)
    router.startWithDelay(LONGEST_HOLD)
  }

  /** The process is warm. A delay that a reload, or another interface, has set meanwhile stays. */
  release(routers: ReadonlyMap<string, Router>, now: Millis): void {
    for (const [name, preemptDelay] of this.#held) {
      const router = routers.get(name)
      if (router?.parameters.preemptDelay === LONGEST_HOLD) router.delayPreemption(preemptDelay, now)
    }
    this.#held.clear()
  }
}
