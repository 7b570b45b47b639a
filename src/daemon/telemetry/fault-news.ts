/**
 * Faults of one router, for the journal, before what they lead to. Decided here: how many of a fault that flaps. Refuses
 * to know what a fault means.
 */
import type { Fault } from '../../vrrp/event.ts'
import type { Millis } from '../../wire/units.ts'
import type { Chronicle } from './chronicle.ts'
import { LineBudget } from './line-budget.ts'

const MOST_AT_ONCE = 20
const PACE = 1_000

type Faulty = { readonly name: string; readonly spec: { readonly configuredFault: string | undefined } }

export class FaultNews {
  readonly #chronicle: Chronicle
  readonly #budget = new LineBudget(MOST_AT_ONCE, PACE)

  constructor(chronicle: Chronicle) {
    this.#chronicle = chronicle
  }

  note({ name: router, spec }: Faulty, fault: Fault, present: boolean, now: Millis): void {
    // Not to know yet is no fault to tell of.
    if (fault.startsWith('healthcheckUndecided:') || !this.#budget.affords(now)) return
    this.#budget.spend(now)
    const words = fault === 'configured' && present ? spec.configuredFault : undefined
    this.#chronicle.record({ kind: 'faultChanged', router, fault, present, ...(words === undefined ? {} : { words }) })
  }
}
