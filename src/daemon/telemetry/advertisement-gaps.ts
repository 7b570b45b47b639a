/**
 * How far apart the advertisements were that one router heard of the Active it follows, as a Backup: the way to see a
 * takeover that nearly happened. By the kernel's receive times, so that a stall of our own is no gap. Decided here: which
 * two advertisements make a gap. Refuses to know what a gap leads to.
 */
import { Histogram } from '../../metrics/histogram.ts'
import { METRICS } from '../../metrics/names.ts'
import type { HeardActive, State } from '../../vrrp/state.ts'
import { centisToMillis } from '../../wire/units.ts'

export class AdvertisementGaps {
  readonly seconds = new Histogram(METRICS.holdfast_vrrp_advertisement_gap_seconds.buckets)
  /** As shares of the interval that the Active advertises. */
  readonly share = new Histogram(METRICS.holdfast_vrrp_advertisement_gap_ratio.buckets)

  readonly #onGap: (active: HeardActive, gap: number, interval: number) => void

  /** `onGap` hears of each, in milliseconds. */
  constructor(onGap: (active: HeardActive, gap: number, interval: number) => void = () => {}) {
    this.#onGap = onGap
  }

  /** Of one event. Two from the same Active, with this router as its Backup all the time. */
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
