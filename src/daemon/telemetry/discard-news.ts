/**
 * Bursts of packets of one interface that were not listened to, for the journal: the first of each reason at once, then
 * one event in a while with how many there were. By reason, of which there are few, because sources can be invented.
 * Refuses to know why a packet is bad.
 */
import type { DiscardReason } from '../../vrrp/advertisement.ts'
import type { Address } from '../../wire/address.ts'
import type { Chronicle } from './chronicle.ts'

const BURST = 10_000

/** Changed in place: a flood must not cost an allocation for each packet. */
type Burst = { since: number; count: number }

export class DiscardNews {
  readonly #interfaceName: () => string
  readonly #chronicle: Chronicle
  readonly #elapsed: () => number
  readonly #bursts = new Map<DiscardReason, Burst>()

  constructor(interfaceName: () => string, chronicle: Chronicle, elapsed: () => number) {
    this.#interfaceName = interfaceName
    this.#chronicle = chronicle
    this.#elapsed = elapsed
  }

  note(reason: DiscardReason, source: Address, router: string | undefined): void {
    const now = this.#elapsed()
    const burst = this.#bursts.get(reason)
    if (burst !== undefined && now - burst.since < BURST) {
      burst.count++
      return
    }
    const count = (burst?.count ?? 0) + 1
    if (burst === undefined) this.#bursts.set(reason, { since: now, count: 0 })
    else Object.assign(burst, { since: now, count: 0 })
    const which = { interface: this.#interfaceName(), reason, source, count }
    this.#chronicle.record({ kind: 'packetsDiscarded', ...which, ...(router === undefined ? {} : { router }) })
  }
}
