/**
 * Limits how often something may happen that a neighbour, a program or the network can cause at will. Examples are a
 * log line, an event of the journal, and a question to the LAN. A bucket has `atOnce` tokens and gets one token back
 * every `every` milliseconds. RATES has all rates of the engine. This file knows nothing about the use of a token, and
 * the clock.
 */

/** Rate of a bucket. `atOnce` is the number of tokens, `every` the milliseconds for one token. */
export type Rate = { readonly atOnce: number; readonly every: number }

/** Rate for log lines and events that a neighbour, or an unstable check or link, can cause without limit. */
const USUAL: Rate = { atOnce: 20, every: 1_000 }
/** Rate for forged MACs, and for a program that adds or removes an address for days. */
const RARE: Rate = { atOnce: 20, every: 10_000 }
/** Rate of one event immediately, then one event every 10 s with the number of suppressed events. */
const BURST: Rate = { atOnce: 1, every: 10_000 }

export const RATES = {
  /** Rate limit of the log lines that share one key, such as one reason and source (VR-RX-21). */
  limitedLine: BURST,
  /** Rate limit of log lines and events about the transitions of one router. */
  transition: USUAL,
  /** Rate limit of log lines and events about the effective priority of one router. */
  priority: USUAL,
  /** Rate limit of log lines about the notifications of one router. */
  notification: USUAL,
  /** Rate limit of log lines and events about one health check. */
  healthcheck: { atOnce: 10, every: 2_000 },
  /** Rate limit of events about the faults of one router. */
  fault: USUAL,
  /** Rate limit of events about what the peers of one router advertise. */
  peer: USUAL,
  /** Rate limit of log lines and events about the routers that advertise as Active for one VRID. */
  actives: USUAL,
  /** Rate limit of events about a late engine. */
  lateness: USUAL,
  /** Rate limit of events about unstable links. */
  link: USUAL,
  /** Rate limit of events about other hosts that answer for the addresses of one router. */
  duplicate: RARE,
  /** Rate limit of events about addresses that another program added or removed. */
  foreignChange: RARE,
  /** Rate limit of events about packets that the kernel dropped. */
  packetsLost: BURST,
  /** Rate limit of events about discarded packets of one reason. */
  packetsDiscarded: BURST,
  /** Rate limit of events about missed advertisements of one peer. */
  advertisementGap: BURST,
  /**
   * Rate limit of questions of one unicast router to the whole LAN: one for each advertisement, down to an interval of
   * 50 ms.
   */
  broadcastQuestion: { atOnce: 1, every: 45 },
  /**
   * Questions that one multicast router sends after an advertisement: one after each advertisement, down to an interval
   * of 500 ms.
   */
  followUpQuestion: { atOnce: 1, every: 450 },
} as const satisfies Record<string, Rate>

export class TokenBucket {
  readonly #every: number
  /** Largest debt of the bucket, in milliseconds, with which a token can still be taken. */
  readonly #credit: number
  /** Time at which all tokens of the bucket are available. */
  #fullAt = Number.NEGATIVE_INFINITY
  #refused = 0

  constructor({ atOnce, every }: Rate) {
    this.#every = every
    this.#credit = (atOnce - 1) * every
  }

  /** Tells whether a token of the bucket is available. */
  has(now: number): boolean {
    return this.#fullAt - now <= this.#credit
  }

  /** Takes a token from the bucket, even if none is available. */
  spend(now: number): void {
    this.#fullAt = Math.max(this.#fullAt, now) + this.#every
    this.#refused = 0
  }

  /**
   * Takes a token if one is available. Returns the number of refused calls since the last success; `undefined` if this
   * call is refused.
   */
  take(now: number): number | undefined {
    if (!this.has(now)) {
      this.#refused++
      return undefined
    }
    const refused = this.#refused
    this.spend(now)
    return refused
  }

  /** Time from which has() is true. */
  get nextAt(): number {
    return this.#fullAt - this.#credit
  }

  /** Tells whether the bucket is full. A full bucket can be dropped, because a new bucket is the same. */
  isFull(now: number): boolean {
    return this.#fullAt <= now
  }

  /** Time at which isFull() becomes true. */
  get fullAt(): number {
    return this.#fullAt
  }
}

/** Returns the field of an event or log line with the number of earlier events or lines that were left out. */
export const suppressedField = (refused: number): { readonly suppressed?: number } =>
  refused === 0 ? {} : { suppressed: refused }
