/**
 * Measures the gaps between the advertisements of the Active that a Backup follows, as a histogram and as events. These
 * gaps show a takeover that nearly happened. The kernel's receive times count, so that a stall of this node is not a
 * gap. This file decides which two advertisements make a gap, and from which length an advertisement is missing. The
 * events are limited, because 255 routers may miss an advertisement at the same time. Whether a missing advertisement
 * was lost or late can be seen only in the journal of its sender.
 */
import { Histogram } from '../../metrics/histogram.ts'
import { METRICS } from '../../metrics/names.ts'
import type { HeardActive, State } from '../../vrrp/state.ts'
import type { Address } from '../../wire/address.ts'
import { centisToMillis } from '../../wire/units.ts'
import type { Chronicle } from './chronicle.ts'
import { RATES, TokenBucket } from './token-bucket.ts'

/**
 * Number of intervals from which a gap is reported. One missing advertisement makes a gap of two intervals. An
 * advertisement that is late by some milliseconds does not reach this limit.
 */
export const MISSING = 1.75
/** Number of peers that are remembered, because a sender can forge source addresses. */
const MOST_PEERS = 64

export class AdvertisementGaps {
  readonly seconds = new Histogram(METRICS.holdfast_vrrp_advertisement_gap_seconds.buckets)
  /** Gaps between advertisements as multiples of the Active's interval. */
  readonly share = new Histogram(METRICS.holdfast_vrrp_advertisement_gap_ratio.buckets)
  readonly #onGap: (active: HeardActive, gap: number, interval: number) => void

  /** Creates the histograms. `onGap` receives each gap between advertisements and the interval, in milliseconds. */
  constructor(onGap: (active: HeardActive, gap: number, interval: number) => void = () => {}) {
    this.#onGap = onGap
  }

  /**
   * Compares the states before and after an event. A gap between two advertisements of one Active counts only if this
   * router was its Backup all the time.
   */
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

  /**
   * Adds gaps that were counted without the engine. `bounds` are the bounds of the cells from gapBounds(); `sum` and
   * `interval` are milliseconds. No gap of these is an event, because each is shorter than MISSING intervals.
   */
  addRepetitions(bounds: readonly number[], cells: readonly number[], sum: number, interval: number): void {
    const counted = cells.map((count, i) => [middleOf(bounds, i, interval), count] as const)
    this.seconds.observeMany(
      counted.map(([gap, count]) => [gap / 1_000, count]),
      sum / 1_000,
    )
    this.share.observeMany(
      counted.map(([gap, count]) => [gap / interval, count]),
      sum / interval,
    )
  }
}

/** Returns a gap in a cell. No bound of a histogram lies inside of a cell. */
const middleOf = (bounds: readonly number[], cell: number, interval: number): number =>
  ((bounds[cell - 1] ?? 0) + (bounds[cell] ?? MISSING * interval)) / 2

/** Returns the bounds of both histograms in milliseconds, up to the gap that is reported. */
export function gapBounds(interval: number): readonly number[] {
  const seconds = METRICS.holdfast_vrrp_advertisement_gap_seconds.buckets.map((bound) => bound * 1_000)
  const shares = METRICS.holdfast_vrrp_advertisement_gap_ratio.buckets.map((bound) => bound * interval)
  const bounds = new Set([...seconds, ...shares].filter((bound) => bound < MISSING * interval))
  return [...bounds].sort((one, other) => one - other)
}

/** Entry about the gaps of one peer. `gapMs` is the longest gap since the last event. */
type Burst = { readonly bucket: TokenBucket; gapMs: number }

/** Records events about missed advertisements, of all routers together. */
export class GapNews {
  readonly #chronicle: Chronicle
  readonly #bursts = new Map<Address, Burst>()

  constructor(chronicle: Chronicle) {
    this.#chronicle = chronicle
  }

  /** Notes the gap before this advertisement. `gap` and `interval` are milliseconds. */
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
