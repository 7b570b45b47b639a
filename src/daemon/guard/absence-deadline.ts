/**
 * Until when the peers believe that a router is there, by what it advertised last: the deadline of its cleanup plan.
 * Decided here: what counts as advertised, how long each advertisement lasts, and that a router which leaves in silence
 * reports itself alive. Refuses to know the guardian, and what happens to a router that is late.
 */
import { type Centis, centisToMillis, type Millis, plus } from '../../wire/units.ts'
import type { SendOutcome } from '../ports.ts'

/** Intervals. As a Backup counts: none gives up earlier than this after an advertisement. */
const PATIENCE = 3
/** Intervals. After a demotion, and a release, a Backup acts on Skew_Time, which is an interval at most. */
const SHORT_PATIENCE = 1.5
const SHORTEST = 50
/** Longer than a router that has lost may answer at all (vrrp/extensions/grace-period.ts), and than an engine is late. */
const LAST_PATIENCE = 70
/** The same where the interval gives time: 255 routers that lose in one turn take 100 ms of it and more. */
const LONGEST_LAST_PATIENCE = 250
/** Share of the patience with a router that leaves, after which it reports itself alive. */
const SHARE = 3

/** Errors of a destination that no host answers for: there is none whose belief could count. */
const UNREACHABLE = new Set(['EHOSTUNREACH', 'ENETUNREACH'])

/**
 * Reports whether an advertisement counts as sent. `canSend`: the link is up. One accepted datagram is enough: a peer that did
 * not hear it cannot be told from a lost packet.
 */
export function wasSent(outcomes: readonly SendOutcome[], canSend: boolean): boolean {
  if (outcomes.some(({ ok }) => ok)) return true
  return canSend && outcomes.every((outcome) => outcome.ok || UNREACHABLE.has(outcome.failure.code))
}

export class AbsenceDeadline {
  #absentAt: Millis | undefined
  #spokeAt: Millis | undefined
  #priority: number | undefined
  #aliveAt: Millis | undefined

  /** Time from which the router counts as absent; `undefined` while it holds no address. */
  get absentAt(): Millis | undefined {
    return this.#absentAt
  }

  /** Time at which the router last advertised, or began to hold its addresses. */
  get spokeAt(): Millis | undefined {
    return this.#spokeAt
  }

  /** In Leaving: time at which the router has to report itself alive. */
  get aliveAt(): Millis | undefined {
    return this.#aliveAt
  }

  /** The router holds addresses from now on, and its first advertisement is on its way. */
  begin(interval: Centis, now: Millis): void {
    this.#priority = undefined
    this.#spokeAt = now
    this.#absentAt = plus(now, PATIENCE * centisToMillis(interval))
    this.#aliveAt = undefined
  }

  /** An advertisement has gone out; not a release, which ends all belief. */
  advertised(priority: number, interval: Centis, now: Millis): void {
    if (this.#absentAt === undefined) return
    const demoted = this.#priority !== undefined && priority < this.#priority
    this.#priority = priority
    this.#spokeAt = now
    this.#aliveAt = undefined
    this.#absentAt = plus(now, demoted ? shortPatience(interval) : PATIENCE * centisToMillis(interval))
  }

  /** The router has released its addresses, and holds them until the successor is heard. */
  leave(interval: Centis, now: Millis): void {
    if (this.#absentAt === undefined) return
    const patience = shortPatience(interval)
    this.#absentAt = plus(now, patience)
    this.#aliveAt = plus(now, patience / SHARE)
  }

  /** The router has lost, is believed no longer, and holds its addresses until the winner announces itself. */
  linger(interval: Centis, now: Millis): void {
    if (this.#absentAt === undefined) return
    const patience = Math.min(LONGEST_LAST_PATIENCE, PATIENCE * centisToMillis(interval))
    this.#absentAt = plus(now, Math.max(LAST_PATIENCE, patience))
    this.#aliveAt = undefined
  }

  end(): void {
    this.#absentAt = undefined
    this.#spokeAt = undefined
    this.#aliveAt = undefined
  }
}

function shortPatience(interval: Centis): number {
  const ms = centisToMillis(interval)
  return Math.max(SHORT_PATIENCE * ms, ms + SHORTEST)
}
