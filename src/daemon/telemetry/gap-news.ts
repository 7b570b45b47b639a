/**
 * Advertisements of the Active that a Backup has missed, for the journal: that some were lost, or sent late, before so many are that
 * somebody takes over. Decided here: from when on one counts as missing, and how much of it is recorded: of each neighbour the
 * first at once, then one event in a while with how often and how long, because 255 routers miss the same one. Refuses to
 * know whether it was lost or late: only the journal of who should have sent it can tell.
 */
import type { HeardActive } from '../../vrrp/state.ts'
import type { Address } from '../../wire/address.ts'
import type { Chronicle } from './chronicle.ts'
import { RATES, TokenBucket } from './token-bucket.ts'

/** In intervals: one that is missing makes two of them; one that is late by some ms does not. */
const MISSING = 1.75
/** Neighbours remembered at once: sources can be invented. */
const MOST = 64

/** Changed in place. `gapMs`: the longest since the last event. */
type Burst = { readonly bucket: TokenBucket; gapMs: number }

export class GapNews {
  readonly #chronicle: Chronicle
  readonly #bursts = new Map<Address, Burst>()

  constructor(chronicle: Chronicle) {
    this.#chronicle = chronicle
  }

  /** `gap` before this advertisement of the Active, and its `interval`: milliseconds. */
  note(router: string, { heardAt: now, source: peer }: HeardActive, gap: number, interval: number): void {
    if (gap < MISSING * interval) return
    const burst = this.#burstOf(peer)
    burst.gapMs = Math.max(burst.gapMs, gap)
    const refused = burst.bucket.take(now)
    if (refused === undefined) return
    const gapMs = Math.round(burst.gapMs)
    burst.gapMs = 0
    this.#chronicle.record({ kind: 'advertisementsMissed', router, peer, gapMs, interval, count: refused + 1 })
  }

  #burstOf(peer: Address): Burst {
    const known = this.#bursts.get(peer)
    if (known !== undefined) return known
    if (this.#bursts.size >= MOST) this.#bursts.clear()
    const burst: Burst = { bucket: new TokenBucket(RATES.advertisementGap), gapMs: 0 }
    this.#bursts.set(peer, burst)
    return burst
  }
}
