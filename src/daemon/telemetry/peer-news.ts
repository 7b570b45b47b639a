/**
 * Records advertisements of other routers in the journal when they change, or may change, which node is Active. Either
 * another router replaces the Active that a Backup follows, or that Active changes its priority or sends priority 0. Or
 * this router is Active and receives advertisements of a competing Active. This file decides which of thousands of
 * advertisements are recorded, and the limit of the events. Other advertisements cost one comparison. This file knows
 * nothing about the consequences.
 */
import { defined } from '../../base/defined.ts'
import type { EventOf } from '../../events/event.ts'
import type { Event } from '../../vrrp/event.ts'
import type { Parameters } from '../../vrrp/parameters.ts'
import type { HeardActive, State } from '../../vrrp/state.ts'
import type { Millis } from '../../wire/units.ts'
import type { Chronicle } from './chronicle.ts'
import { heldBy } from './suppressed-move.ts'
import { RATES, suppressedField, TokenBucket } from './token-bucket.ts'

/** Milliseconds in which several advertisements of the same competing Active cause one event. */
const COMPETITOR_SPACING = 2_000

type Received = Extract<Event, { kind: 'advertisementReceived' }>
type Listener = { readonly name: string; readonly state: State; readonly parameters: Parameters }
type News = Pick<EventOf<'peerHeard'>, 'news' | 'previous'>

export class PeerNews {
  readonly #chronicle: Chronicle
  /** Limits the number of events, because a peer can change its priority with every packet. */
  readonly #bucket = new TokenBucket(RATES.peer)
  #competitor: { readonly source: string; readonly at: Millis } | undefined

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
      ...defined({ heldBy: held }),
      ...suppressedField(refused),
    })
  }

  #isKnown(source: string, now: Millis): boolean {
    const known = this.#competitor?.source === source && now - this.#competitor.at < COMPETITOR_SPACING
    if (!known) this.#competitor = { source, at: now }
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
      ...defined({ previous: then && { peer: then.source, priority: then.priority } }),
    }
  }
  if (then.priority === priority) return undefined
  return { news: priority < then.priority ? 'lowered' : 'raised', previous: { peer: source, priority: then.priority } }
}

function followedBy(state: State): HeardActive | undefined {
  return state.name === 'Backup' ? state.active : state.name === 'Leaving' ? state.successor : undefined
}
