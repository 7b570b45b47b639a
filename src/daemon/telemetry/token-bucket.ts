/**
 * How often something may happen that a neighbour, a program or the network can cause at will: a log line, an event of
 * the journal, a question to the LAN. A bucket holds `atOnce` tokens and gets one back every `every` milliseconds. All
 * rates of the engine are in RATES. This file does not know what a token pays for, nor which clock tells the time.
 */

/** `every`: milliseconds for one token. */
export type Rate = { readonly atOnce: number; readonly every: number }

/** A neighbour, or a flapping check or link, can cause one as often as it likes. */
const USUAL: Rate = { atOnce: 20, every: 1_000 }
/** MACs can be invented, and a program may fight for an address for days. */
const RARE: Rate = { atOnce: 20, every: 10_000 }
/** The first immediately, then one with the number of those in between. */
const BURST: Rate = { atOnce: 1, every: 10_000 }

export const RATES = {
  /** Log lines of one key (VR-RX-21). */
  limitedLine: BURST,
  /** Log lines and events about the transitions of one router. */
  transition: USUAL,
  /** Log lines and events about the effective priority of one router. */
  priority: USUAL,
  /** Log lines about the notifications of one router. */
  notification: USUAL,
  /** Log lines and events about one health check. */
  healthcheck: { atOnce: 10, every: 2_000 },
  /** Events about the faults of one router. */
  fault: USUAL,
  /** Events about what the peers of one router advertise. */
  peer: USUAL,
  /** Log lines and events about the routers that advertise as Active for one VRID. */
  actives: USUAL,
  /** Events about an engine that woke late. */
  lateness: USUAL,
  /** Events about links that flap. */
  link: USUAL,
  /** Events about other hosts that answer for the addresses of one router. */
  duplicate: RARE,
  /** Events about addresses that another program added or removed. */
  foreignChange: RARE,
  /** Events about packets that the kernel dropped. */
  packetsLost: BURST,
  /** Events about discarded packets of one reason. */
  packetsDiscarded: BURST,
  /** Events about missed advertisements of one peer. */
  advertisementGap: BURST,
  /** Questions of one unicast router to the whole LAN: every advertisement down to 50 ms has its own. */
  broadcastQuestion: { atOnce: 1, every: 45 },
  /** Questions of one multicast router after its advertisement: advertisements down to 500 ms have theirs. */
  followUpQuestion: { atOnce: 1, every: 450 },
} as const satisfies Record<string, Rate>

export class TokenBucket {
  readonly #every: number
  /** Milliseconds of debt with which a token can still be taken. */
  readonly #credit: number
  /** Time at which all tokens are back. */
  #fullAt = Number.NEGATIVE_INFINITY
  #refused = 0

  constructor({ atOnce, every }: Rate) {
    this.#every = every
    this.#credit = (atOnce - 1) * every
  }

  /** Reports whether a token is there. */
  has(now: number): boolean {
    return this.#fullAt - now <= this.#credit
  }

  /** Takes a token, whether it is there or not. */
  spend(now: number): void {
    this.#fullAt = Math.max(this.#fullAt, now) + this.#every
    this.#refused = 0
  }

  /** Takes a token if it is there. Returns how many were refused since the last one; `undefined` if this one is. */
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

  /** Reports whether the bucket is full, so that a new one would be the same. */
  isFull(now: number): boolean {
    return this.#fullAt <= now
  }

  /** Time at which isFull() becomes true. */
  get fullAt(): number {
    return this.#fullAt
  }
}

/** Returns the field of an event or log line that says how many before it were left out. */
export const suppressedField = (refused: number): { readonly suppressed?: number } =>
  refused === 0 ? {} : { suppressed: refused }
