/**
 * Several successors of a router that leaves (docs/adr/0036). Equal keepalived nodes take over in the same millisecond;
 * all announce, one stays, and a client that was reached last by a loser's announcement is without an answer until the
 * winner announces again, 5 s later. keepalived as winner does so at once when it hears a lower priority. Decided here:
 * who of them is the successor, when the race is over, and whether the winner is told. Refuses to know addresses on links.
 */
import { compareAddresses } from '../../wire/address.ts'
import { type Millis, millis, plus } from '../../wire/units.ts'
import type { Effect } from '../effect.ts'
import type { Parameters } from '../parameters.ts'
import type { Leaving } from '../state.ts'

/** On a busy machine equals whose timers end together are 10 to 100 ms apart. */
const WATCHED = 200
/** After a loser's advertisement: its addresses and announcements come after that, and later where it has to wait for a CPU. */
const REMINDERS = [30, 120] as const
/** Below everybody who may be Active: it changes no election, and no Backup follows it that preempts. */
const REMINDER = 1

type Successor = NonNullable<Leaving['successor']>

export type Succession = {
  /** Until then others may speak up as well. */
  readonly until: Millis
  /** When the winner is to be told, and told once more. */
  readonly remindAt: readonly Millis[]
}

/** Of several Active routers the one that stays (RFC 9568 §6.4.3). */
export function bestOf(before: Successor | undefined, heard: Successor): Successor {
  if (before === undefined || before.source === heard.source) return heard
  const order = heard.priority - before.priority || compareAddresses(heard.source, before.source)
  return order > 0 ? heard : before
}

/**
 * What an advertisement says of the race. The winner's next one, perhaps in answer to us, is no news. Nor is who goes on for
 * longer than a race takes: a second Active that does not hear the first, or the one that follows a winner which has left
 * as well. To wait for its end would be to stay for ever.
 */
export function raceOn({ succession, successor }: Leaving, { source, heardAt }: Successor): Succession {
  if (succession === undefined) return { until: plus(heardAt, WATCHED), remindAt: [] }
  if (successor?.source === source || heardAt > succession.until) return succession
  return { until: succession.until, remindAt: REMINDERS.map((after) => plus(heardAt, after)) }
}

/** What is due of it; undefined: the race is over. */
export function advance(
  race: Succession,
  successor: Successor,
  parameters: Parameters,
  now: Millis,
): readonly [Succession | undefined, readonly Effect[]] {
  const remindAt = race.remindAt.filter((at) => at > now)
  const isDue = remindAt.length < race.remindAt.length && isBelow(successor, parameters)
  const effects: Effect[] = isDue ? [{ kind: 'sendAdvertisement', priority: REMINDER, reason: 'contested' }] : []
  const isOver = remindAt.length === 0 && now >= race.until
  return [isOver ? undefined : { ...race, remindAt }, effects]
}

export function nextOf({ until, remindAt }: Succession): Millis {
  return millis(Math.min(remindAt[0] ?? until, ...remindAt))
}

/** A winner with the least priority there is, and a lower address, would yield to us. */
function isBelow({ priority, source }: Successor, { primaryAddress }: Parameters): boolean {
  return priority > REMINDER || compareAddresses(primaryAddress, source) < 0
}
