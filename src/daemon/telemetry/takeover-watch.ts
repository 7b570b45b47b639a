/**
 * Measures the time of a takeover: from the decision to be Active until the router has advertised, has its addresses
 * and has announced them. The watch reads the clock and not the time of the turn, because system calls within the turn
 * take most of the time. This file decides which phases a takeover has. A phase that is not reached is not counted.
 */
import { Histogram } from '../../metrics/histogram.ts'
import { METRICS } from '../../metrics/names.ts'
import type { Address } from '../../wire/address.ts'
import type { Millis } from '../../wire/units.ts'
import type { Clock } from '../ports.ts'

/** Phases of a takeover, each measured from the decision to be Active. */
export type TakeoverPhase =
  /** The router has sent its first advertisement. */
  | 'advertised'
  /** The node has installed all addresses of the router. */
  | 'addresses'
  /** The node has sent the first gratuitous ARP or Neighbor Advertisement. */
  | 'firstAnnouncement'
  /** The node has announced every address of the router. */
  | 'announced'

/** Durations of takeovers, of all routers together. */
export type TakeoverTimes = {
  readonly clock: Pick<Clock, 'now'>
  /** Histogram of each phase of a takeover, in seconds. */
  readonly phases: Readonly<Record<TakeoverPhase, Histogram>>
}

export function takeoverTimes(clock: Pick<Clock, 'now'>): TakeoverTimes {
  const { buckets } = METRICS.holdfast_vrrp_takeover_duration_seconds
  const phase = () => new Histogram(buckets)
  return {
    clock,
    phases: { advertised: phase(), addresses: phase(), firstAnnouncement: phase(), announced: phase() },
  }
}

export class TakeoverWatch {
  readonly #times: TakeoverTimes
  #decidedAt: Millis | undefined
  readonly #ahead = new Set<TakeoverPhase>()
  readonly #unannounced = new Set<Address>()
  #addresses = 0
  readonly #onAnnounced: (addresses: number) => void

  /** Creates a watch of takeovers. `onAnnounced` receives the number of VIPs after all VIPs were announced. */
  constructor(times: TakeoverTimes, onAnnounced: (addresses: number) => void) {
    this.#times = times
    this.#onAnnounced = onAnnounced
  }

  /**
   * Starts the measurement of a takeover. `owns` is true if the VIPs are the node's own addresses, so that no address
   * is installed.
   */
  begin(addresses: readonly Address[], owns: boolean, decidedAt: Millis): void {
    this.end()
    this.#decidedAt = decidedAt
    for (const phase of ['advertised', 'firstAnnouncement', 'announced'] as const) this.#ahead.add(phase)
    if (!owns) this.#ahead.add('addresses')
    for (const address of addresses) this.#unannounced.add(address)
    this.#addresses = addresses.length
  }

  advertised(): void {
    this.#reach('advertised')
  }

  installed(): void {
    this.#reach('addresses')
  }

  announced(address: Address): void {
    if (this.#decidedAt === undefined) return
    this.#reach('firstAnnouncement')
    this.#unannounced.delete(address)
    if (this.#unannounced.size > 0 || !this.#ahead.has('announced')) return
    this.#reach('announced')
    this.#onAnnounced(this.#addresses)
  }

  /**
   * Ends the measurement of a takeover, because the router is no longer Active or starts again. Phases that were not
   * reached are not counted.
   */
  end(): void {
    this.#decidedAt = undefined
    this.#ahead.clear()
    this.#unannounced.clear()
  }

  #reach(phase: TakeoverPhase): void {
    if (this.#decidedAt === undefined || !this.#ahead.delete(phase)) return
    const { clock, phases } = this.#times
    phases[phase].observe((clock.now() - this.#decidedAt) / 1_000)
    if (this.#ahead.size === 0) this.end()
  }
}
