/**
 * Records discarded packets of one interface in the journal: the first packet of each reason immediately, later packets
 * from time to time as one event with their number. Packets are counted by reason, because there are few reasons, while
 * a sender can forge source addresses. This file knows nothing about why a packet is wrong.
 */
import { defined } from '../../base/defined.ts'
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
    this.#chronicle.record({ kind: 'packetsDiscarded', ...which, ...defined({ router }) })
  }
}
