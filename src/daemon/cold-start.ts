/**
 * Delays preemption while the process is new. After its start, Node loads and compiles code, with pauses of 30 to 80
 * ms. A router with an interval of 10 ms that took over then would miss its own deadline, and the guardian would remove
 * its addresses. For this reason a router with such an interval does not preempt a healthy Active until the process is
 * warm, or until LONGEST_HOLD is over (docs/adr/0057). The delay is set as the router's `preemptDelay`. A takeover from
 * an Active that is silent or sends priority 0 is not delayed.
 */
import { centis, type Millis, millis } from '../wire/units.ts'
import type { Router } from './router/router.ts'

/** Longest delay in milliseconds, for a process that never reports that it is warm. */
export const LONGEST_HOLD = millis(2_000)
/**
 * Advertisement interval from which no delay is needed. The cleanup deadline of such a router, three intervals, is
 * longer than the pauses of a start.
 */
const LONG = centis(10)

export class ColdStart {
  /** Configured preemptDelay of each router whose preemption is delayed at the start, by name. */
  readonly #held = new Map<string, Millis>()

  /** Delays the preemption of a router. The caller must do this before the router starts. */
  hold(router: Router): void {
    const { advertisementInterval, preemptDelay } = router.parameters
    if (advertisementInterval >= LONG || preemptDelay >= LONGEST_HOLD) return
    this.#held.set(router.name, preemptDelay)
    router.startWithDelay(LONGEST_HOLD)
  }

  /**
   * Ends the delay of preemption, because the process is warm. A `preemptDelay` that a reload or another interface has
   * set in the meantime stays.
   */
  release(routers: ReadonlyMap<string, Router>, now: Millis): void {
    for (const [name, preemptDelay] of this.#held) {
      const router = routers.get(name)
      if (router?.parameters.preemptDelay === LONGEST_HOLD) router.delayPreemption(preemptDelay, now)
    }
    this.#held.clear()
  }
}
