/**
 * The states of RFC 9568 §6.3 (and Leaving and Returning) as values that carry their own deadlines: a timer that does
 * not belong to a state cannot exist, and there is none to forget to cancel. All moments are monotonic.
 */
import type { Address } from '../wire/address.ts'
import { type Centis, type Millis, millis } from '../wire/units.ts'
import type { TransitionReason } from './effect.ts'
import type { Fault } from './event.ts'
import { nextOf, type Succession } from './extensions/succession.ts'

/** The router that a Backup follows, as last heard. */
export type HeardActive = {
  readonly source: Address
  /** As last advertised, also when that advertisement was refused for being lower than ours. */
  readonly priority: number
  readonly heardAt: Millis
}

export type Initialize = {
  readonly name: 'Initialize'
  /** Empty and not stopped cannot be: then the router has started. */
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
  readonly activeDownAt: Millis
  /** What will be said when activeDownAt passes. */
  readonly downReason: TransitionReason
  /** While fastPreempt is pending: when row B5 alone would have let the timer run out. */
  readonly regularDownAt: Millis | undefined
  readonly active: HeardActive | undefined
  /** The last time that the followed router became another one, or that we stopped being it (minHold). */
  readonly ownerChangedAt: Millis | undefined
  /** preemptDelay runs until then (VR-PRE-02). */
  readonly preemptAt: Millis | undefined
  /** The deadline was already moved once because packets were lost (ground rule 2). */
  readonly extended: boolean
  /** Its time has come, but another member of its sync group is not ready: it waits since then (VR-SG-03). */
  readonly heldSince?: Millis | undefined
  /** fastPreempt is pending and its checks have not answered yet: without an answer it is taken back. */
  readonly asksChecks?: boolean | undefined
  /** The Active that we follow would be preempted, if our advantage were greater than the margin. */
  readonly spared?: boolean | undefined
  /** Was Active a moment ago, and answers until the winner has announced itself (lingering.ts); never empty. */
  readonly kept?: readonly Kept[]
}

/** A release is a question of its own: who was answered as a rival and then leaves is answered once more. */
export type Answered = {
  readonly to: 'rival' | 'release'
  readonly source: Address
  readonly at: Millis
}

export type Active = {
  readonly name: 'Active'
  readonly since: Millis
  readonly adverAt: Millis
  /** When the last extra advertisement for a changed priority went out. */
  readonly changeSentAt: Millis | undefined
  /** Whom we advertised to out of turn (rows A3, A6, A7), and when; forgotten after the spacing. */
  readonly asserted: readonly Answered[]
  readonly rivalAnnouncedAt: Millis | undefined
  /** When the time that the announcements over rivals cost is over (rival.ts); absent until the first. */
  readonly rivalPaidAt?: Millis
  /** The last answer to our question that was not announced over, because the rival was there all the time. */
  readonly rivalAnsweredAt?: Millis
  /** When a tie was first left to another member of the sync group (group-tie.ts). */
  readonly tiedAt?: Millis
}

export type Leaving = {
  readonly name: 'Leaving'
  readonly reason: 'shutdown' | 'yield'
  readonly until: Millis
  /** When the second priority 0 is due. */
  readonly repeatAt: Millis | undefined
  readonly successor: (HeardActive & { readonly interval: Centis }) | undefined
  /** Several may follow at once: how long that is watched; absent where it is not (knob remindSuccessor), or over. */
  readonly succession?: Succession | undefined
  /** Still answered; `offAt` is known once the successor was heard. */
  readonly kept: readonly { readonly address: Address; readonly offAt: Millis | undefined }[]
}

/** Was Active, was away, and holds no address: it listens before it speaks (returning.ts). */
export type Returning = {
  readonly name: 'Returning'
  /**
   * `drain`: what waits in the queues was not heard yet. `probe`: somebody was asked for the addresses. `ready`: silence
   * was enough for this member, but not yet for all of its sync group.
   */
  readonly phase: 'drain' | 'probe' | 'ready'
  readonly until: Millis
  readonly linkWasUp: boolean
}

export type State = Initialize | Backup | Active | Leaving | Returning

export const INITIAL_STATE: Initialize = { name: 'Initialize', faults: [], stopped: true }

/** The nearest moment at which `deadlineReached` changes something; undefined = only an event can. */
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
      const due = [state.repeatAt, state.successor === undefined ? state.until : undefined]
      for (const { offAt } of state.kept) due.push(offAt)
      if (state.succession !== undefined) due.push(nextOf(state.succession))
      return due.reduce(
        (least, at) => (at !== undefined && (least === undefined || at < least) ? at : least),
        undefined,
      )
    }
  }
}
