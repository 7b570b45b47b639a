/**
 * The states of RFC 9568 §6.3, and those of extensions, as values that carry their own deadlines: a timer that does not
 * belong to a state cannot exist, and there is none to forget to cancel. All times are monotonic. The first fields of a
 * state are the RFC's and what fsm.ts notes beside them; those after `Extensions:` belong to one file of extensions/ each.
 */
import type { Address } from '../wire/address.ts'
import { type Centis, type Millis, millis } from '../wire/units.ts'
import type { TransitionReason } from './effect.ts'
import type { Fault } from './event.ts'

/** The router that a Backup follows, as last heard. */
export type HeardActive = {
  readonly source: Address
  /** As last advertised, also when that advertisement was refused for being lower than ours. */
  readonly priority: number
  readonly heardAt: Millis
}

export type Initialize = {
  readonly name: 'Initialize'
  /** Invariant: if there is no fault, `stopped` is true; otherwise the router has started (extensions/faults.ts). */
  readonly faults: readonly Fault[]
  /** Before startup and after shutdown. */
  readonly stopped: boolean
}

/** An address that is still answered, and until when. */
export type Kept = { readonly address: Address; readonly offAt: Millis }

export type Backup = {
  readonly name: 'Backup'
  readonly enteredAt: Millis
  /** Active_Adver_Interval, learned from the Active (RFC 9568 §6.1). */
  readonly activeAdverInterval: Centis
  /** Active_Down_Timer. */
  readonly activeDownAt: Millis
  /** Reason of the transition when Active_Down_Timer runs out. */
  readonly downReason: TransitionReason
  readonly active: HeardActive | undefined
  /** The last time that the followed router became another one, or that this router stopped being it. */
  readonly holderChangedAt: Millis | undefined

  // Extensions:

  /** preemption/fast-preempt.ts, while it is pending: when line (470) alone would have let the timer run out. */
  readonly regularDownAt: Millis | undefined
  /** preemption/fast-preempt.ts: the checks have not answered yet. Without an answer the preemption is withdrawn. */
  readonly asksChecks?: boolean | undefined
  /** preemption/preempt-delay.ts: it runs until then. */
  readonly preemptAt: Millis | undefined
  /** preemption/margin.ts: the Active would be preempted if our advantage were greater. */
  readonly spared?: boolean | undefined
  /** lost-packets.ts: the deadline was already moved once. */
  readonly extended: boolean
  /** grace-period.ts: was Active a moment ago, and answers until the winner has announced itself; never empty. */
  readonly kept?: readonly Kept[]
  /** sync-group/: its time has come, but another member of its group is not ready; it waits since then. */
  readonly heldSince?: Millis | undefined
}

/** A release is a question of its own: a router that was answered as a competing Active and then leaves is answered once more. */
export type Answered = {
  readonly to: 'competing' | 'release'
  readonly source: Address
  readonly at: Millis
}

export type Active = {
  readonly name: 'Active'
  readonly since: Millis
  /** Adver_Timer. */
  readonly adverAt: Millis

  // Extensions:

  /** priority-change.ts: when the last extra advertisement for a change went out. */
  readonly changeSentAt: Millis | undefined
  /** competing-active.ts: the routers that were answered out of turn, and when; forgotten after the spacing. */
  readonly asserted: readonly Answered[]
  /** competing-active.ts: the last announcement over a competing Active. */
  readonly announcedOverAt: Millis | undefined
  /** competing-active.ts: when the time that such announcements cost is over; absent until the first. */
  readonly announcementsPaidAt?: Millis | undefined
  /** silent-active.ts: the last answer to our question without an announcement, because it had been there all the time. */
  readonly silentAnswerAt?: Millis | undefined
  /** sync-group/tie.ts: when a tie was first left to another member of the group. */
  readonly tiedAt?: Millis | undefined
}

/** succession.ts: several routers that follow one that leaves. */
export type Succession = {
  /** Until then others may advertise as well. */
  readonly until: Millis
  /** When the winner is reminded, and reminded once more. */
  readonly remindAt: readonly Millis[]
}

/** leaving.ts: an Active that stops on purpose, and answers until its successor does. */
export type Leaving = {
  readonly name: 'Leaving'
  readonly reason: 'shutdown' | 'yield'
  readonly until: Millis
  /** When the second priority 0 is due. */
  readonly repeatAt: Millis | undefined
  readonly successor: (HeardActive & { readonly interval: Centis }) | undefined
  /** How long several successors are watched; absent if they are not, or no longer. */
  readonly succession?: Succession | undefined
  /** Still answered; `offAt` is known once the successor was heard. */
  readonly kept: readonly { readonly address: Address; readonly offAt: Millis | undefined }[]
}

/** returning.ts: was Active, was away, and holds no address. It listens before it speaks. */
export type Returning = {
  readonly name: 'Returning'
  /**
   * `drain`: what waits in the queues was not heard yet. `probe`: the LAN was asked for the addresses. `ready`: silence was
   * enough for this member, but not yet for all of its sync group.
   */
  readonly phase: 'drain' | 'probe' | 'ready'
  readonly until: Millis
  readonly linkWasUp: boolean
}

export type State = Initialize | Backup | Active | Leaving | Returning

/** Every state, once. */
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

/** Returns a Backup in which no extension is at work. Every field is written out: a spread costs fifty times as much. */
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
    spared: undefined,
    extended: false,
    heldSince: undefined,
  }
}

/** The same of an Active. */
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

/** Returns the same Active with another Adver_Timer. Comes with every advertisement, so it is no spread either. */
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

/** Returns the nearest time at which `deadlineReached` changes something; `undefined` if only another event can. */
export function nextDeadline(state: State): Millis | undefined {
  switch (state.name) {
    case 'Initialize':
      return undefined
    case 'Backup':
      return (state.kept ?? []).reduce((least, { offAt }) => millis(Math.min(offAt, least)), state.activeDownAt)
    case 'Active':
      return state.adverAt
    case 'Returning':
      return state.until
    case 'Leaving': {
      const { repeatAt, succession, successor, until } = state
      const due = [repeatAt, successor === undefined ? until : undefined, ...reminders(succession)]
      for (const { offAt } of state.kept) due.push(offAt)
      return due.reduce(
        (least, at) => (at !== undefined && (least === undefined || at < least) ? at : least),
        undefined,
      )
    }
  }
}

/** The race lasts until the last reminder, so its own end counts only without one. */
function reminders(succession: Succession | undefined): readonly Millis[] {
  if (succession === undefined) return []
  return succession.remindAt.length === 0 ? [succession.until] : succession.remindAt
}
