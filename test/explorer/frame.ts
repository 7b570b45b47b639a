/**
 * Converts the state of a node to its canonical form: all its moments are counted from another now, and everything is
 * left out that can no longer decide anything. Every rule of this file names the code that reads the value. A wrong
 * rule would merge worlds that differ, so there are few rules. explorer.test.ts checks with the state machine itself
 * that the form makes no difference. A field of a state that this file does not name is a type error.
 */
import type { HeardActive, State } from '../../src/vrrp/state.ts'
import { type Millis, millis } from '../../src/wire/units.ts'
import { LONGEST_WAIT, type Setting } from './world.ts'

/**
 * Longest time of one step, in intervals: until the next deadline, at most an Active_Down_Interval with its stagger.
 */
const LONGEST_STEP = 4

type Rest = Record<string, never>
const NOTHING: Rest = {}
const nothingElse = (_rest: Rest): void => {}

/**
 * Returns the state after `elapsed` ms, in its canonical form. Keys are written in one order, because worlds are
 * compared as text.
 */
export function inFrame(state: State, elapsed: number, { interval, minHold }: Setting): State {
  const since = (at: Millis): Millis => millis(at - elapsed)
  /** Limits the age of a moment: an age above `enough` ms makes no difference to the state machine. */
  const atLeast = (at: Millis, enough: number): Millis => millis(Math.max(since(at), 0 - enough))
  // The age on the next line is greater than that of every packet in a queue by more than an interval, and greater than
  // any Active_Down_Interval.
  const past = (LONGEST_WAIT + LONGEST_STEP + 2) * interval
  const bounded = (at: Millis): Millis => atLeast(at, past)
  const maybe = (at: Millis | undefined): Millis | undefined => (at === undefined ? undefined : bounded(at))
  // follow() reads ages within an interval. priorityChangedInBackup() adds Active_Down_Interval, and reads at most
  // twice that age (extended).
  const heard = ({ source, priority, heardAt, ...rest }: HeardActive): HeardActive => {
    nothingElse(rest)
    return { source, priority, heardAt: bounded(heardAt) }
  }
  switch (state.name) {
    case 'Initialize':
      return state
    case 'Returning': {
      const { name, phase, until, linkWasUp, ...rest } = state
      nothingElse(rest)
      return { name, phase, until: bounded(until), linkWasUp }
    }
    case 'Active': {
      const { name, since: began, adverAt, changeSentAt, asserted } = state
      // Only announcements read announcedOverAt, announcementsPaidAt and silentAnswerAt. Only sync groups read tiedAt.
      const { announcedOverAt: _a, announcementsPaidAt: _p, silentAnswerAt: _r, tiedAt: _t, ...others } = state
      const { name: _n, since: _s, adverAt: _v, changeSentAt: _c, asserted: _d, ...rest } = others
      nothingElse(rest)
      const changed = maybe(changeSentAt)
      return {
        name,
        // answeredAfterLosing() reads ages up to 100 ms.
        since: atLeast(began, 100),
        // wasSilentTooLong() reads ages up to two intervals, after which it counts from the beginning.
        adverAt: atLeast(adverAt, 2 * interval + 1),
        changeSentAt: changed !== undefined && 0 - changed >= interval ? undefined : changed,
        // rememberAnswer() forgets the answered senders after the spacing.
        asserted: asserted
          .map(({ to, source, at }) => ({ to, source, at: since(at) }))
          .filter(({ at }) => 0 - at < Math.min(100, interval)),
        announcedOverAt: undefined,
      }
    }
    case 'Backup': {
      const { name, enteredAt, activeAdverInterval, activeDownAt, downReason, regularDownAt, ...second } = state
      const {
        active,
        holderChangedAt,
        preemptAt,
        extended,
        heldSince,
        asksChecks,
        withinMargin,
        stillAnswered,
        ...rest
      } = second
      nothingElse(rest)
      return {
        name,
        // fastPreempt() reads ages up to Active_Down_Interval, at most four intervals.
        enteredAt: atLeast(enteredAt, 4 * interval),
        activeAdverInterval,
        activeDownAt: bounded(activeDownAt),
        downReason,
        regularDownAt: maybe(regularDownAt),
        active: active === undefined ? undefined : heard(active),
        // fastPreempt() reads ages up to minHold, after which the last takeover has no effect.
        holderChangedAt:
          holderChangedAt === undefined || elapsed - holderChangedAt >= minHold ? undefined : since(holderChangedAt),
        preemptAt: maybe(preemptAt),
        extended,
        heldSince: maybe(heldSince),
        asksChecks,
        withinMargin,
        ...(stillAnswered === undefined
          ? NOTHING
          : { stillAnswered: stillAnswered.map(({ address, offAt }) => ({ address, offAt: bounded(offAt) })) }),
      }
    }
    case 'Leaving': {
      const { name, reason, until, repeatAt, successor, succession, stillAnswered, ...rest } = state
      nothingElse(rest)
      return {
        name,
        reason,
        until: bounded(until),
        repeatAt: maybe(repeatAt),
        successor:
          successor === undefined ? undefined : { ...heard(withoutInterval(successor)), interval: successor.interval },
        succession:
          succession === undefined
            ? undefined
            : { until: bounded(succession.until), remindAt: succession.remindAt.map(bounded) },
        stillAnswered: stillAnswered.map(({ address, offAt }) => ({ address, offAt: maybe(offAt) })),
      }
    }
  }
}

const withoutInterval = ({ source, priority, heardAt }: HeardActive): HeardActive => ({ source, priority, heardAt })
