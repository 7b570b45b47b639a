/**
 * Until when the others believe that a router is there, as it last spoke: the deadline of its last will (docs/architecture.md).
 * Decided here: what counts as spoken, how long each word lasts, and that a router which leaves in silence says itself
 * that it is alive. Refuses to know the guardian, and what becomes of a router that is late.
 */
import { type Centis, centisToMillis, type Millis, plus } from '../../wire/units.ts'
import type { SendOutcome } from '../ports.ts'

/** As a Backup counts: no one gives up earlier than this many intervals after an advertisement. */
const PATIENCE = 3
/** After a demotion, and a release, a Backup acts on Skew_Time, which is an interval at most. */
const SHORT_PATIENCE = 1.5
const SHORTEST = 50
/** With one that has lost: longer than it may answer at all (vrrp/extensions/grace-period.ts), and than an engine is late. */
const LAST_PATIENCE = 70
/** The same where the interval gives time: 255 that lose in one turn take 100 ms of it and more. */
const LONGEST_LAST_PATIENCE = 250
/** Of the patience with one that leaves: how often it says that it lives. */
const SHARE = 3

/** Nobody was told when the kernel did not take it; nobody can be told where there is nobody. */
const UNREACHABLE = new Set(['EHOSTUNREACH', 'ENETUNREACH'])

/** `canSend`: the link is up. One that was taken is enough: whoever did not hear it cannot be told from a lost packet. */
export function wasSent(outcomes: readonly SendOutcome[], canSend: boolean): boolean {
  if (outcomes.some(({ ok }) => ok)) return true
  return canSend && outcomes.every((outcome) => outcome.ok || UNREACHABLE.has(outcome.failure.code))
}

export class Presence {
  #absentAt: Millis | undefined
  /** When it last spoke, or began to hold its addresses. */
  #spokeAt: Millis | undefined
  #priority: number | undefined
  #aliveAt: Millis | undefined

  /** From then on it counts as absent; undefined while it holds nothing. */
  get absentAt(): Millis | undefined {
    return this.#absentAt
  }

  get spokeAt(): Millis | undefined {
    return this.#spokeAt
  }

  /** Leaving: when to say that it lives. */
  get aliveAt(): Millis | undefined {
    return this.#aliveAt
  }

  /** It holds addresses from now on, and its first advertisement is on its way. */
  begin(interval: Centis, now: Millis): void {
    this.#priority = undefined
    this.#spokeAt = now
    this.#absentAt = plus(now, PATIENCE * centisToMillis(interval))
    this.#aliveAt = undefined
  }

  /** An advertisement has gone out; not a release, which ends it all. */
  advertised(priority: number, interval: Centis, now: Millis): void {
    if (this.#absentAt === undefined) return
    const demoted = this.#priority !== undefined && priority < this.#priority
    this.#priority = priority
    this.#spokeAt = now
    this.#aliveAt = undefined
    this.#absentAt = plus(now, demoted ? shortPatience(interval) : PATIENCE * centisToMillis(interval))
  }

  /** It has released its addresses, and holds them until the successor is heard. */
  leave(interval: Centis, now: Millis): void {
    if (this.#absentAt === undefined) return
    const patience = shortPatience(interval)
    this.#absentAt = plus(now, patience)
    this.#aliveAt = plus(now, patience / SHARE)
  }

  /** It has lost, is believed no more, and holds its addresses until the winner announces itself. */
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
