/**
 * Advertisements of other routers for the journal, when they change which node answers for the addresses, or might: the
 * Active that a Backup follows becomes another one, raises or lowers its priority, or releases; an Active hears a
 * competing one. Decided here: which of thousands of advertisements are news, and how many events there are. Costs a
 * comparison while there is none. Refuses to know what follows from it.
 */
import type { EventOf } from '../../events/event.ts'
import type { Event } from '../../vrrp/event.ts'
import type { Parameters } from '../../vrrp/parameters.ts'
import type { HeardActive, State } from '../../vrrp/state.ts'
import type { Millis } from '../../wire/units.ts'
import type { Chronicle } from './chronicle.ts'
import { heldBy } from './suppressed-move.ts'
import { RATES, suppressedField, TokenBucket } from './token-bucket.ts'

/** Milliseconds in which a competing Active that stays is one event. */
const RIVAL_PACE = 2_000

type Received = Extract<Event, { kind: 'advertisementReceived' }>
type Listener = { readonly name: string; readonly state: State; readonly parameters: Parameters }
type News = Pick<EventOf<'peerHeard'>, 'news' | 'previous'>

export class PeerNews {
  readonly #chronicle: Chronicle
  /** A peer can change its priority with every packet. */
  readonly #bucket = new TokenBucket(RATES.peer)
  #rival: { readonly source: string; readonly at: Millis } | undefined

  constructor(chronicle: Chronicle) {
    this.#chronicle = chronicle
  }

  note(before: State, after: Listener, heard: Received, now: Millis): void {
    if (before === after.state) return
    const news = newsOf(before, after.state, heard)
    if (news === undefined || (news.news === 'rival' && this.#isKnown(heard.source, now))) return
    const refused = this.#bucket.take(now)
    if (refused === undefined) return
    const { advertisement, source: peer } = heard
    const said = { router: after.name, peer, priority: advertisement.priority }
    const held = news.news === 'lowered' ? heldBy(after.state, after.parameters, now) : undefined
    this.#chronicle.record({
      ...{ kind: 'peerHeard', ...said, ...news },
      ...(held === undefined ? {} : { heldBy: held }),
      ...suppressedField(refused),
    })
  }

  #isKnown(source: string, now: Millis): boolean {
    const known = this.#rival?.source === source && now - this.#rival.at < RIVAL_PACE
    if (!known) this.#rival = { source, at: now }
    return known
  }
}

function newsOf(before: State, after: State, { advertisement, source }: Received): News | undefined {
  const { priority } = advertisement
  if (priority === 0) {
    const letsGo = after.name === 'Backup' && after.downReason === 'activeReleased'
    const hadLetGo = before.name === 'Backup' && before.downReason === 'activeReleased'
    return letsGo && !hadLetGo ? { news: 'released' } : undefined
  }
  if (before.name === 'Active' && after.name === 'Active') return { news: 'rival' }
  const now = followedBy(after)
  if (now?.source !== source) return undefined
  const then = followedBy(before)
  if (then?.source !== source) {
    return {
      news: 'active',
      ...(then === undefined ? {} : { previous: { peer: then.source, priority: then.priority } }),
    }
  }
  if (then.priority === priority) return undefined
  return { news: priority < then.priority ? 'lowered' : 'raised', previous: { peer: source, priority: then.priority } }
}

function followedBy(state: State): HeardActive | undefined {
  return state.name === 'Backup' ? state.active : state.name === 'Leaving' ? state.successor : undefined
}
