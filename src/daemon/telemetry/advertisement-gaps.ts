/**
 * How far apart the advertisements were that a router heard, as a Backup, of the Active it follows: the way to see a takeover
 * that nearly happened, as a histogram and as events. By the kernel's receive times, so that a stall of our own is no gap.
 * Decided here: which two advertisements make a gap, from when on one counts as missing, and how many events there are,
 * because 255 routers miss the same advertisement. Refuses to know whether one was lost or late: only the journal of the
 * router that should have sent it can tell.
 */
import { Histogram } from '../../metrics/histogram.ts'
import { METRICS } from '../../metrics/names.ts'
import type { HeardActive, State } from '../../vrrp/state.ts'
import type { Address } from '../../wire/address.ts'
import { centisToMillis } from '../../wire/units.ts'
import type { Chronicle } from './chronicle.ts'
import { RATES, TokenBucket } from './token-bucket.ts'

/** Intervals. A missing advertisement makes two of them; one that is late by some milliseconds does not. */
const MISSING = 1.75
/** Peers remembered at once: sources can be invented. */
const MOST_PEERS = 64

export class AdvertisementGaps {
  readonly seconds = new Histogram(METRICS.holdfast_vrrp_advertisement_gap_seconds.buckets)
  /** Shares of the interval that the Active advertises. */
  readonly share = new Histogram(METRICS.holdfast_vrrp_advertisement_gap_ratio.buckets)
  readonly #onGap: (active: HeardActive, gap: number, interval: number) => void

  /** `onGap`: called with each gap and interval, in milliseconds. */
  constructor(onGap: (active: HeardActive, gap: number, interval: number) => void = () => {}) {
    this.#onGap = onGap
  }

  /** Compares the states around one event: two advertisements of one Active, with this router as its Backup all the time. */
  follow(before: State, after: State): void {
    if (before.name !== 'Backup' || after.name !== 'Backup' || before.active === undefined) return
    const { active } = after
    if (active === undefined || active === before.active || active.source !== before.active.source) return
    const gap = active.heardAt - before.active.heardAt
    if (gap <= 0) return
    const interval = centisToMillis(after.activeAdverInterval)
    this.seconds.observe(gap / 1_000)
    this.share.observe(gap / interval)
    this.#onGap(active, gap, interval)
  }
}

/** Changed in place. `gapMs`: the longest gap since the last event. */
type Burst = { readonly bucket: TokenBucket; gapMs: number }

/** Events about missed advertisements, of all routers together. */
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
    if (this.#bursts.size >= MOST_PEERS) this.#bursts.clear()
    const burst: Burst = { bucket: new TokenBucket(RATES.advertisementGap), gapMs: 0 }
    this.#bursts.set(peer, burst)
    return burst
  }
}
