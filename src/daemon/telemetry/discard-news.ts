/**
 * Bursts of discarded packets of one interface, for the journal: the first of each reason immediately, then one event
 * in a while with how many there were. By reason, of which there are few, because sources can be invented. Refuses to
 * know why a packet is bad.
 */
import type { DiscardReason } from '../../vrrp/advertisement.ts'
import type { Address } from '../../wire/address.ts'
import type { Chronicle } from './chronicle.ts'
import { RATES, TokenBucket } from './token-bucket.ts'

export class DiscardNews {
  readonly #interfaceName: () => string
  readonly #chronicle: Chronicle
  readonly #elapsed: () => number
  readonly #buckets = new Map<DiscardReason, TokenBucket>()

  constructor(interfaceName: () => string, chronicle: Chronicle, elapsed: () => number) {
    this.#interfaceName = interfaceName
    this.#chronicle = chronicle
    this.#elapsed = elapsed
  }

  note(reason: DiscardReason, source: Address, router: string | undefined): void {
    const bucket = this.#buckets.get(reason) ?? new TokenBucket(RATES.packetsDiscarded)
    this.#buckets.set(reason, bucket)
    const refused = bucket.take(this.#elapsed())
    if (refused === undefined) return
    const which = { interface: this.#interfaceName(), reason, source, count: refused + 1 }
    this.#chronicle.record({ kind: 'packetsDiscarded', ...which, ...(router === undefined ? {} : { router }) })
  }
}
