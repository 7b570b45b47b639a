/**
 * Faults of one router, for the journal, before what they lead to. Decided here: how many of a fault that flaps. Refuses
 * to know what a fault means.
 */
import type { Fault } from '../../vrrp/event.ts'
import type { Millis } from '../../wire/units.ts'
import type { Chronicle } from './chronicle.ts'
import { RATES, TokenBucket } from './token-bucket.ts'

type Faulty = { readonly name: string; readonly spec: { readonly configuredFault: string | undefined } }

export class FaultNews {
  readonly #chronicle: Chronicle
  readonly #bucket = new TokenBucket(RATES.fault)

  constructor(chronicle: Chronicle) {
    this.#chronicle = chronicle
  }

  note({ name: router, spec }: Faulty, fault: Fault, present: boolean, now: Millis): void {
    // Not to know yet is no fault to tell of.
    if (fault.startsWith('healthcheckUndecided:') || this.#bucket.take(now) === undefined) return
    const words = fault === 'configured' && present ? spec.configuredFault : undefined
    this.#chronicle.record({ kind: 'faultChanged', router, fault, present, ...(words === undefined ? {} : { words }) })
  }
}
