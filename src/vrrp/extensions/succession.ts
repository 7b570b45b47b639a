/**
 * Succession: several routers take over from one in Leaving (docs/adr/0045). keepalived nodes of equal priority take
 * over in the same millisecond. All these routers announce the addresses, and one of them stays Active. A client that
 * received a loser's announcement last reaches no node until the winner announces again, 5 s later. A keepalived that
 * wins announces immediately when it receives a lower priority. For this reason the extension succession reminds the
 * winner with such an advertisement. `succession.ts` decides which router is the successor, when the race of the
 * successors is over, and whether the winner is reminded. Option: `remindSuccessor`.
 */
import { compareAddresses } from '../../wire/address.ts'
import { type Millis, plus } from '../../wire/units.ts'
import type { Effect } from '../effect.ts'
import type { Parameters } from '../parameters.ts'
import type { Leaving, Succession } from '../state.ts'
import type { Extension } from './extension.ts'
import { asHeard, follow, hearSuccessor, isOver, removeDue, type Successor } from './leaving.ts'

/**
 * Milliseconds for which a router in Leaving observes its successors. On a busy machine, takeovers of equal routers are
 * 10 to 100 ms apart.
 */
const WATCHED = 200
/**
 * Milliseconds from the advertisement of a router that loses to each reminder. The losing router announces its
 * addresses after its advertisement, and later if it has to wait for a CPU.
 */
const REMINDERS = [30, 120] as const
/**
 * Priority of the advertisement that reminds the winner. The priority of the reminder is below that of every Active: a
 * reminder changes no election, and no Backup that preempts follows it.
 */
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

/** Returns which of two routers stays Active (RFC 9568 §6.4.3). */
function bestOf(before: Successor | undefined, heard: Successor): Successor {
  if (before === undefined || before.source === heard.source) return heard
  const order = heard.priority - before.priority || compareAddresses(heard.source, before.source)
  return order > 0 ? heard : before
}

/**
 * Returns the race of the successors after an advertisement. A further advertisement of the winner, perhaps in answer
 * to us, changes nothing. A router that still advertises after the race changes nothing either. A router that
 * advertises after the race may be a second Active that does not receive the first, or the successor of a winner that
 * has stopped. Waiting until it stops could last for ever.
 */
function raceOn({ succession: race, successor }: Leaving, { source, heardAt }: Successor): Succession {
  if (race === undefined) return { until: plus(heardAt, WATCHED), remindAt: [] }
  if (successor?.source === source || heardAt > race.until) return race
  return { until: race.until, remindAt: REMINDERS.map((after) => plus(heardAt, after)) }
}

/** Returns the race of the successors and the effects that are due; `undefined` if the race is over. */
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

/**
 * Tells whether our reminder is below the winner. A winner with the lowest priority and a lower address than ours would
 * give way to the reminder.
 */
function isBelow({ priority, source }: Successor, { primaryAddress }: Parameters): boolean {
  return priority > REMINDER || compareAddresses(primaryAddress, source) < 0
}
