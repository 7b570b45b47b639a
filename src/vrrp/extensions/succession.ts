/**
 * Succession: several routers follow one that leaves (docs/adr/0045). Equal keepalived nodes take over in the same millisecond;
 * all announce, one stays, and a client that was reached last by a loser's announcement is without an answer until the
 * winner announces again, 5 s later. keepalived as winner does so immediately when it hears a lower priority. Decided here:
 * which of them is the successor, when the race is over, and whether the winner is reminded. Refuses to know addresses on
 * links. Option: `remindSuccessor`.
 */
import { compareAddresses } from '../../wire/address.ts'
import { type Millis, plus } from '../../wire/units.ts'
import type { Effect } from '../effect.ts'
import type { Parameters } from '../parameters.ts'
import type { Leaving, Succession } from '../state.ts'
import type { Extension } from './extension.ts'
import { asHeard, follow, hearSuccessor, isOver, removeDue, type Successor } from './leaving.ts'

/** On a busy machine equals whose timers end together are 10 to 100 ms apart. */
const WATCHED = 200
/** After a loser's advertisement: its addresses and announcements come after that, and later where it has to wait for a CPU. */
const REMINDERS = [30, 120] as const
/** Below every router that may be Active: it changes no election, and no Backup that preempts follows it. */
const REMINDER = 1

export const succession: Extension = {
  name: 'succession',
  isOn: ({ extensions }) => extensions.succession === true,
  isPending: { Leaving: (state) => state.succession !== undefined },
  wraps: {
    Leaving: {
      advertisementReceived: (inner, state, event, parameters, now) => {
        const { source, advertisement, receivedAt } = event
        const isOther = advertisement.priority > 0 && source !== parameters.primaryAddress
        if (!isOther || parameters.extensions.succession !== true) return inner(state, event, parameters, now)
        const { interval, priority } = advertisement
        const heard = { source, priority, interval, heardAt: receivedAt }
        const next = hearSuccessor(state, bestOf(state.successor, heard), receivedAt, parameters)
        return [{ ...next, succession: raceOn(state, heard) }, []]
      },
      deadlineReached: (inner, state, event, parameters, now) => {
        const { succession: race, successor } = state
        if (race === undefined || successor === undefined) return inner(state, event, parameters, now)
        const [next, removed] = removeDue(state, now)
        const [after, due] = advance(race, successor, parameters, now)
        const watched: Leaving = { ...next, succession: after }
        const effects = [...removed, ...due]
        if (!isOver(watched)) return [watched, effects]
        return follow(state, asHeard(successor, event.receptionLost, now), parameters, now, effects)
      },
    },
  },
}

/** Returns of several Active routers the one that stays (RFC 9568 §6.4.3). */
function bestOf(before: Successor | undefined, heard: Successor): Successor {
  if (before === undefined || before.source === heard.source) return heard
  const order = heard.priority - before.priority || compareAddresses(heard.source, before.source)
  return order > 0 ? heard : before
}

/**
 * What an advertisement means for the race. The winner's next one, perhaps in answer to us, is no news. Nor is a router that goes on
 * for longer than a race takes: a second Active that does not hear the first, or the one that follows a winner which has
 * left as well. To wait for its end would be to stay for ever.
 */
function raceOn({ succession: race, successor }: Leaving, { source, heardAt }: Successor): Succession {
  if (race === undefined) return { until: plus(heardAt, WATCHED), remindAt: [] }
  if (successor?.source === source || heardAt > race.until) return race
  return { until: race.until, remindAt: REMINDERS.map((after) => plus(heardAt, after)) }
}

/** Returns what is due of the race; `undefined` if it is over. */
function advance(
  race: Succession,
  successor: Successor,
  parameters: Parameters,
  now: Millis,
): readonly [Succession | undefined, readonly Effect[]] {
  const remindAt = race.remindAt.filter((at) => at > now)
  const isDue = remindAt.length < race.remindAt.length && isBelow(successor, parameters)
  const effects: Effect[] = isDue ? [{ kind: 'sendAdvertisement', priority: REMINDER, reason: 'contested' }] : []
  const isFinished = remindAt.length === 0 && now >= race.until
  return [isFinished ? undefined : { ...race, remindAt }, effects]
}

/** A winner with the least priority there is, and a lower address, would yield to us. */
function isBelow({ priority, source }: Successor, { primaryAddress }: Parameters): boolean {
  return priority > REMINDER || compareAddresses(primaryAddress, source) < 0
}
