/**
 * Computes the time until which peers rely on a router, from its last advertisement. The computed time is the deadline
 * of the router's cleanup plan. This file decides what counts as advertised, and for how long each advertisement is
 * valid. A router in Leaving, which sends no advertisement, has to report itself alive.
 */
import { type Centis, centisToMillis, type Millis, plus } from '../../wire/units.ts'
import type { SendOutcome } from '../ports.ts'

/** Number of intervals for which an advertisement is valid. No Backup takes over earlier. */
const PATIENCE = 3
/**
 * Number of intervals after a demotion or after priority 0. A Backup then takes over after Skew_Time, which is at most
 * one interval.
 */
const SHORT_PATIENCE = 1.5
/** Milliseconds that are added to one interval if that is longer. */
const SHORTEST = 50
/**
 * Milliseconds for which a router that lost an election may keep its addresses. This time is longer than the grace
 * period (vrrp/extensions/grace-period.ts), and than the engine is normally late.
 */
const LAST_PATIENCE = 70
/**
 * Time in milliseconds that a router has for removing its addresses after it lost an election, if its interval is long
 * enough. When 255 routers lose in one turn, the removal takes 100 ms and more.
 */
const LONGEST_LAST_PATIENCE = 250
/** A router in Leaving reports itself alive after a third of its deadline. */
const SHARE = 3

/**
 * Errors for a destination with which no host answers. After such an error no peer at that destination can rely on this
 * router.
 */
const UNREACHABLE = new Set(['EHOSTUNREACH', 'ENETUNREACH'])

/**
 * Tells whether an advertisement counts as sent. `canSend` is true if the link is up. A single accepted datagram is
 * enough, because a peer that did not receive it cannot be distinguished from a lost packet.
 */
export function wasSent(outcomes: readonly SendOutcome[], canSend: boolean): boolean {
  if (outcomes.some(({ ok }) => ok)) return true
  return canSend && outcomes.every((outcome) => outcome.ok || UNREACHABLE.has(outcome.failure.code))
}

export class AbsenceDeadline {
  #absentAt: Millis | undefined
  #advertisedAt: Millis | undefined
  #priority: number | undefined
  #aliveAt: Millis | undefined

  /** Time from which the router counts as absent; `undefined` while the router has no address. */
  get absentAt(): Millis | undefined {
    return this.#absentAt
  }

  /**
   * Time of the router's last advertisement, or at which the router got its addresses; `undefined` while the router has
   * no address.
   */
  get advertisedAt(): Millis | undefined {
    return this.#advertisedAt
  }

  /** Time at which a router in Leaving has to report itself alive; otherwise `undefined`. */
  get aliveAt(): Millis | undefined {
    return this.#aliveAt
  }

  /**
   * Starts the deadline for the next advertisement: the router gets its addresses now, and its first advertisement
   * follows.
   */
  begin(interval: Centis, now: Millis): void {
    this.#priority = undefined
    this.#advertisedAt = now
    this.#absentAt = plus(now, PATIENCE * centisToMillis(interval))
    this.#aliveAt = undefined
  }

  /**
   * Extends the deadline after an advertisement of the router. A release (priority 0) does not: no peer counts on the
   * router then.
   */
  advertised(priority: number, interval: Centis, now: Millis): void {
    if (this.#absentAt === undefined) return
    const demoted = this.#priority !== undefined && priority < this.#priority
    this.#priority = priority
    this.#advertisedAt = now
    this.#aliveAt = undefined
    this.#absentAt = plus(now, demoted ? shortPatience(interval) : PATIENCE * centisToMillis(interval))
  }

  /** Extends the deadline after the guardian's clock has repeated the last advertisement. */
  repeated(interval: Centis, sentAt: Millis): void {
    if (this.#absentAt === undefined || (this.#advertisedAt !== undefined && sentAt <= this.#advertisedAt)) return
    this.#advertisedAt = sentAt
    this.#absentAt = plus(sentAt, PATIENCE * centisToMillis(interval))
  }

  /** Sets the deadline after priority 0. The router keeps its addresses until the successor is known. */
  leave(interval: Centis, now: Millis): void {
    if (this.#absentAt === undefined) return
    const patience = shortPatience(interval)
    this.#absentAt = plus(now, patience)
    this.#aliveAt = plus(now, patience / SHARE)
  }

  /**
   * Sets the deadline of a grace period: the router has lost, and keeps its addresses until the winner announces
   * itself.
   */
  beginGracePeriod(interval: Centis, now: Millis): void {
    if (this.#absentAt === undefined) return
    const patience = Math.min(LONGEST_LAST_PATIENCE, PATIENCE * centisToMillis(interval))
    this.#absentAt = plus(now, Math.max(LAST_PATIENCE, patience))
    this.#aliveAt = undefined
  }

  end(): void {
    this.#absentAt = undefined
    this.#advertisedAt = undefined
    this.#aliveAt = undefined
  }
}

function shortPatience(interval: Centis): number {
  const ms = centisToMillis(interval)
  return Math.max(SHORT_PATIENCE * ms, ms + SHORTEST)
}
