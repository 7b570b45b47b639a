/**
 * Repeats the health checks that raise a router's priority before the router takes over by fastPreempt
 * (docs/architecture.md, Protocol decisions, docs/adr/0025). An answer of the check worker is matched with the request;
 * only the last request of a router counts. This file decides how long before the router acts the check worker must
 * name the slow checks. This file knows nothing about how checks run, or what a router does with the answer.
 */
import type { Asked } from '../../healthcheck/check-message.ts'
import { type Millis, millis } from '../../wire/units.ts'
import type { CheckPort } from '../ports.ts'
import type { Router } from '../router/router.ts'
import type { Trackers } from './trackers.ts'

/**
 * Milliseconds. The check worker names slow checks by a timer, in a message, to an event loop that may be busy. At the
 * end of the router's wait the message would be too late, and one slow check would count for all. A short wait uses a
 * quarter instead.
 */
const ON_THE_WAY = 20

const answerWithin = (wait: Millis): Millis => millis(wait - Math.min(ON_THE_WAY, wait / 4))

type Question = { readonly router: Router; readonly probes: Asked }
export type Answer = { readonly router: Router; readonly assured: number }

export class CheckQuestions {
  readonly #trackers: Trackers
  readonly #open = new Map<number, Question>()
  #last = 0

  constructor(trackers: Trackers) {
    this.#trackers = trackers
  }

  ask(router: Router, within: Millis, checks: CheckPort | undefined): void {
    for (const [id, question] of this.#open) if (question.router === router) this.#open.delete(id)
    const probes = this.#trackers.probesOf(router.priority.tracking.lifting)
    const id = ++this.#last
    this.#open.set(id, { router, probes })
    checks?.askOnceMore(id, probes, answerWithin(within))
  }

  /**
   * Handles the answer of the check worker: the names of the probes that ran once more in time. Returns `undefined` if
   * no router waits for this answer.
   */
  answer(id: number, answered: ReadonlySet<string>): Answer | undefined {
    const question = this.#open.get(id)
    if (question === undefined) return undefined
    this.#open.delete(id)
    const { router, probes } = question
    const { basePriority, track } = router.spec
    const silentOf = (names: readonly string[]) => names.filter((probe) => !answered.has(probe))
    const silent = { up: silentOf(probes.up), down: silentOf(probes.down) }
    return { router, assured: this.#trackers.assured(basePriority, track, silent) }
  }

  /**
   * Forgets all requests to run checks once more, because no answer will arrive. The waiting routers continue at their
   * deadlines.
   */
  forget(): void {
    this.#open.clear()
  }
}
