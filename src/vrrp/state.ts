/**
 * The states of RFC 9568 §6.3 and of the extensions, as values with their own deadlines. A timer without a state cannot
 * exist, so no timer has to be cancelled. All times are monotonic. The first fields of a state belong to the RFC and to
 * fsm.ts. Every field after `Extensions:` belongs to one file of extensions/.
 */
import type { Address } from '../wire/address.ts'
import { type Centis, centisToMillis, type Millis, millis, plus } from '../wire/units.ts'
import type { TransitionReason } from './effect.ts'
import type { Fault } from './event.ts'

/** The Active that a Backup follows, from its last advertisement. */
export type HeardActive = {
  readonly source: Address
  /**
   * Priority in the Active's last advertisement, even if that advertisement was refused because its priority is lower
   * than ours.
   */
  readonly priority: number
  readonly heardAt: Millis
}

export type Initialize = {
  readonly name: 'Initialize'
  /**
   * Faults that keep the router in Initialize. A router without a fault has `stopped` true, otherwise it would have
   * started (extensions/faults.ts).
   */
  readonly faults: readonly Fault[]
  /** True before the startup and after the shutdown of a router. */
  readonly stopped: boolean
}

/** An address that a router still answers for, and the time of its removal. */
export type StillAnswered = { readonly address: Address; readonly offAt: Millis }

export type Backup = {
  readonly name: 'Backup'
  readonly enteredAt: Millis
  /** Active_Adver_Interval: interval in the advertisements of the Active, in centiseconds (RFC 9568 §6.1). */
  readonly activeAdverInterval: Centis
  /** Active_Down_Timer: time at which this Backup takes over if it receives no advertisement. */
  readonly activeDownAt: Millis
  /** Reason of the takeover if Active_Down_Timer expires. */
  readonly downReason: TransitionReason
  readonly active: HeardActive | undefined
  /**
   * Time of the last change of the Active that this router follows, or at which this router stopped being Active;
   * `undefined` if neither has happened.
   */
  readonly holderChangedAt: Millis | undefined

  // Extensions:

  /**
   * preemption/fast-preempt.ts: time at which the timer of line (470) would have expired; `undefined` while no fast
   * preemption is pending.
   */
  readonly regularDownAt: Millis | undefined
  /**
   * preemption/fast-preempt.ts: true while the health checks have not confirmed the fast preemption. Without a
   * confirmation the preemption is withdrawn.
   */
  readonly asksChecks?: boolean | undefined
  /** End of the preemption delay (preemption/preempt-delay.ts); `undefined` while no delay runs. */
  readonly preemptAt: Millis | undefined
  /**
   * True if this router does not preempt because its priority is higher by no more than the margin
   * (preemption/margin.ts).
   */
  readonly withinMargin?: boolean | undefined
  /** True if packets dropped by the kernel have already restarted Active_Down_Timer once (lost-packets.ts). */
  readonly extended: boolean
  /**
   * Addresses that a former Active answers for until the winner announces them (grace-period.ts); absent or not empty.
   */
  readonly stillAnswered?: readonly StillAnswered[]
  /**
   * Time since which this member is ready to be Active but waits for another member of its sync group; absent if it
   * does not wait.
   */
  readonly heldSince?: Millis | undefined
}

/**
 * An answering advertisement to another router. If a router got one as a competing Active and then sends priority 0, it
 * gets one more.
 */
export type Answered = {
  readonly to: 'competing' | 'release'
  readonly source: Address
  readonly at: Millis
}

export type Active = {
  readonly name: 'Active'
  readonly since: Millis
  /** Adver_Timer: time at which this Active sends its next advertisement. */
  readonly adverAt: Millis

  // Extensions:

  /**
   * Time of the last extra advertisement for a changed priority (priority-change.ts); `undefined` if there was none.
   */
  readonly changeSentAt: Millis | undefined
  /**
   * competing-active.ts: routers that got an answering advertisement, and the time of that advertisement. Entries older
   * than the spacing are removed.
   */
  readonly asserted: readonly Answered[]
  /**
   * Time of the last announcement because of a competing Active (competing-active.ts); `undefined` if there was none.
   */
  readonly announcedOverAt: Millis | undefined
  /**
   * competing-active.ts: time until which the rate limit of announcements is used up; absent before the first
   * announcement because of a competing Active.
   */
  readonly announcementsPaidAt?: Millis | undefined
  /**
   * silent-active.ts: time at which a host last answered our question without an announcement of ours. Such a host has
   * answered all the time.
   */
  readonly silentAnswerAt?: Millis | undefined
  /**
   * Time at which a tie between sync groups was first left to another member of this group (sync-group/tie.ts); absent
   * without a tie.
   */
  readonly tiedAt?: Millis | undefined
}

/** succession.ts: several routers have taken over from a router in Leaving. */
export type Succession = {
  /** Time until which further successors of this router in Leaving may advertise. */
  readonly until: Millis
  /** Times at which the winning successor is reminded to announce its addresses again. */
  readonly remindAt: readonly Millis[]
}

/** leaving.ts: an Active that stops on purpose and keeps answering until its successor answers. */
export type Leaving = {
  readonly name: 'Leaving'
  readonly reason: 'shutdown' | 'yield'
  readonly until: Millis
  /** Time at which the second advertisement with priority 0 is due; `undefined` after it was sent. */
  readonly repeatAt: Millis | undefined
  readonly successor: (HeardActive & { readonly interval: Centis }) | undefined
  /** Race of several successors of this router in Leaving (succession.ts); absent while there is no race. */
  readonly succession?: Succession | undefined
  /**
   * Addresses that this router still answers for. `offAt` is `undefined` until the successor advertises or announces.
   */
  readonly stillAnswered: readonly { readonly address: Address; readonly offAt: Millis | undefined }[]
}

/** returning.ts: a former Active that was away and has no address now. The router listens before it sends. */
export type Returning = {
  readonly name: 'Returning'
  /**
   * `drain`: packets that waited in the queues are not read yet. `probe`: the LAN was asked for the addresses. `ready`:
   * this member may become Active, but another member of its sync group may not yet.
   */
  readonly phase: 'drain' | 'probe' | 'ready'
  readonly until: Millis
  readonly linkWasUp: boolean
}

export type State = Initialize | Backup | Active | Leaving | Returning

export const STATE_NAMES = Object.keys({
  Initialize: true,
  Backup: true,
  Active: true,
  Leaving: true,
  Returning: true,
} satisfies Record<State['name'], true>) as readonly State['name'][]

export const INITIAL_STATE: Initialize = { name: 'Initialize', faults: [], stopped: true }

type Fields = Pick<
  Backup,
  'enteredAt' | 'activeAdverInterval' | 'activeDownAt' | 'downReason' | 'active' | 'holderChangedAt'
>

/**
 * Returns a Backup in which no extension is at work. The function lists every field, because a spread is fifty times as
 * slow.
 */
export function plainBackup(fields: Fields): Backup {
  return {
    name: 'Backup',
    enteredAt: fields.enteredAt,
    activeAdverInterval: fields.activeAdverInterval,
    activeDownAt: fields.activeDownAt,
    downReason: fields.downReason,
    active: fields.active,
    holderChangedAt: fields.holderChangedAt,
    regularDownAt: undefined,
    asksChecks: undefined,
    preemptAt: undefined,
    withinMargin: undefined,
    extended: false,
    heldSince: undefined,
  }
}

/** Returns an Active in which no extension is at work. */
export const plainActive = (since: Millis, adverAt: Millis): Active => ({
  name: 'Active',
  since,
  adverAt,
  changeSentAt: undefined,
  asserted: [],
  announcedOverAt: undefined,
  announcementsPaidAt: undefined,
  silentAnswerAt: undefined,
  tiedAt: undefined,
})

/**
 * Returns the same Active with another Adver_Timer. The function uses no spread, because it runs with every
 * advertisement.
 */
export function withAdverAt(state: Active, adverAt: Millis): Active {
  const next: { readonly [K in keyof Required<Active>]: Active[K] } = {
    name: 'Active',
    since: state.since,
    adverAt,
    changeSentAt: state.changeSentAt,
    asserted: state.asserted,
    announcedOverAt: state.announcedOverAt,
    announcementsPaidAt: state.announcementsPaidAt,
    silentAnswerAt: state.silentAnswerAt,
    tiedAt: state.tiedAt,
  }
  return next
}

/**
 * Returns the next time on the grid of the previous Adver_Timer, so that the period does not drift (VR-TM-09).
 * Advertisements that a stall prevented are not sent later.
 */
export function nextAdvertisementAt(previous: Millis, advertisementInterval: Centis, now: Millis): Millis {
  const interval = centisToMillis(advertisementInterval)
  const next = plus(previous, (Math.floor((now - previous) / interval) + 1) * interval)
  // Clock values are not exact binary fractions. Rounding must not give the same deadline twice.
  return next > now ? next : plus(next, interval)
}

/** Milliseconds by which a round of the clock may come before its time, because its timer is rounded. */
const EARLY = 1

/**
 * Returns the Active after a clock has repeated its advertisement until `sentAt` (docs/adr/0086): the same state with
 * the next Adver_Timer on the grid.
 */
export function repeatedUntil(state: Active, sentAt: Millis, interval: Centis): Active {
  const upTo = plus(sentAt, EARLY)
  return upTo < state.adverAt ? state : withAdverAt(state, nextAdvertisementAt(state.adverAt, interval, upTo))
}

/**
 * Returns the nearest time at which `deadlineReached` changes the state; `undefined` if only another event can change
 * it.
 */
export function nextDeadline(state: State): Millis | undefined {
  switch (state.name) {
    case 'Initialize':
      return undefined
    case 'Backup':
      return (state.stillAnswered ?? []).reduce(
        (least, { offAt }) => millis(Math.min(offAt, least)),
        state.activeDownAt,
      )
    case 'Active':
      return state.adverAt
    case 'Returning':
      return state.until
    case 'Leaving': {
      const { repeatAt, succession, successor, until } = state
      const due = [repeatAt, successor === undefined ? until : undefined, ...reminders(succession)]
      for (const { offAt } of state.stillAnswered) due.push(offAt)
      return due.reduce(
        (least, at) => (at !== undefined && (least === undefined || at < least) ? at : least),
        undefined,
      )
    }
  }
}

/** Returns the deadlines in a race of several successors. The end of the race counts only if no reminder is left. */
function reminders(succession: Succession | undefined): readonly Millis[] {
  if (succession === undefined) return []
  return succession.remindAt.length === 0 ? [succession.until] : succession.remindAt
}
