/**
 * The checks that lift a router's priority, asked once more before it takes over by fastPreempt (design.md §3,
 * docs/adr/0025). Decided here: which question an answer belongs to, and that only the last one of a router counts.
 * Refuses to know how checks run, and what a router does with the answer.
 */
import type { Millis } from '../wire/units.ts'
import type { CheckPort } from './ports.ts'
import type { Router } from './router.ts'
import type { Trackers } from './trackers.ts'

type Question = { readonly router: Router; readonly probes: readonly string[] }
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
    checks?.askOnceMore(id, probes, within)
  }

  /** `answered`: the probes that ran once more in time. Undefined: nobody waits for it any more. */
  answer(id: number, answered: ReadonlySet<string>): Answer | undefined {
    const question = this.#open.get(id)
    if (question === undefined) return undefined
    this.#open.delete(id)
    const { router, probes } = question
    const { basePriority, track } = router.spec
    const silent = probes.filter((probe) => !answered.has(probe))
    return { router, assured: this.#trackers.assured(basePriority, track, silent) }
  }

  /** Nobody answers any more: the routers find out by their deadlines. */
  forget(): void {
    this.#open.clear()
  }
}
