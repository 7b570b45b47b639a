/**
 * Reports two or more routers that advertise as Active at the same time, in the journal and the log. A third node
 * reports such a split brain as well, although neither its state nor its Active changes. This file decides when a log
 * line is written: at the begin, for another set of routers, and at the end. The number of lines is limited on a LAN
 * with changing routers. How long both must advertise is decided in lan/advertising.ts.
 */
import type { EventOf } from '../../events/event.ts'
import { LOG } from '../../log/log.ts'
import type { Parameters } from '../../vrrp/parameters.ts'
import type { State } from '../../vrrp/state.ts'
import { address, compareAddresses } from '../../wire/address.ts'
import type { Millis } from '../../wire/units.ts'
import type { AdvertisingRouters } from '../lan/advertising.ts'
import type { Recorder } from './recorder.ts'
import { RATES, TokenBucket } from './token-bucket.ts'

type Actives = EventOf<'twoActives'>['actives']
type Listener = { readonly name: string; readonly title: string; readonly state: State } & {
  readonly parameters: Parameters
  readonly advertising: AdvertisingRouters
}

export class ActivesNews {
  readonly #recorder: Recorder
  /**
   * Limits the log lines about Actives. A sender can forge source addresses, and routers can change with every packet.
   */
  readonly #bucket = new TokenBucket(RATES.actives)
  /** Last recorded set of Actives; empty while at most one router is Active. */
  #told: Actives = []
  #since: number | undefined
  /** Time of the last advertisement of an Active that this router does not follow. */
  #heardAt = Number.NEGATIVE_INFINITY
  /** Time at which this router was first seen as Active; `undefined` while it is not Active. */
  #activeSince: Millis | undefined

  constructor(recorder: Recorder) {
    this.#recorder = recorder
  }

  /** True if the last event reported two routers that are Active, so that their end has to be noticed. */
  get isOpen(): boolean {
    return this.#told.length > 0
  }

  /**
   * Compares the routers that advertise now with the routers in the last event. The method runs for each advertisement,
   * so it costs little while only one router is Active.
   */
  look(router: Listener, now: Millis): void {
    const { advertising, parameters, state } = router
    // The time is taken from the state, because the transition history gets a transition only at the end of the turn.
    this.#activeSince = state.name === 'Active' ? (this.#activeSince ?? now) : undefined
    const others = advertising.beside(state, parameters, this.#activeSince ?? now, now)
    if (others.length === 0 && this.#told.length === 0) return
    this.#heardAt = Math.max(this.#heardAt, ...others.map(({ heardAt }) => heardAt))
    const actives =
      others.length === 0 ? [] : [first(router), ...others.map(({ address: peer, priority }) => ({ peer, priority }))]
    if (isSame(actives, this.#told)) return
    // The limit is reached. A later call reports the change.
    if (!this.#bucket.has(now)) return
    this.#bucket.spend(now)
    this.#since ??= Math.min(now, ...others.map(({ besideSince }) => besideSince))
    const present = actives.length > 0
    // The end of a split brain is known only after an advertisement is missing for Active_Down_Interval.
    const forMs = Math.round((present ? now : this.#heardAt) - this.#since)
    const about = present ? actives : this.#told
    const news = { present, actives: about, forMs }
    this.#recorder.chronicle.record({ kind: 'twoActives', router: router.name, ...news })
    this.#log(router, news)
    this.#told = actives
    if (present) return
    this.#since = undefined
    this.#heardAt = Number.NEGATIVE_INFINITY
  }

  #log({ name, title }: Listener, { actives, forMs, present }: News): void {
    const fields = { router: name, actives: actives.map(({ peer }) => peer), forMs }
    const who = actives.map(({ peer, priority }) => `${peer} (priority ${priority})`).join(' and ')
    if (!present) {
      this.#recorder.log(
        LOG.twoActivesEnded,
        `${title}: only one router is Active again; after ${forMs} ms with ${who}`,
        fields,
      )
      return
    }
    const [best, ...others] = [...actives].sort(byRank)
    const deaf = others.map(({ peer }) => peer).join(' and ')
    const why = `${deaf} ${others.length === 1 ? 'does' : 'do'} not receive, or not accept, the advertisements of ${best?.peer}`
    this.#recorder.log(
      LOG.twoActives,
      `${title}: ${actives.length} routers advertise as Active: ${who}; ${why}`,
      fields,
    )
  }
}

type News = Pick<EventOf<'twoActives'>, 'actives' | 'forMs' | 'present'>

/** Returns the Active that this router follows, or the router itself. */
function first({ parameters, state }: Listener): Actives[number] {
  if (state.name === 'Backup' && state.active !== undefined)
    return { peer: state.active.source, priority: state.active.priority }
  return { peer: parameters.primaryAddress, priority: parameters.priority }
}

/**
 * Sorts the router first that wins by RFC 9568 §6.4.3. The other routers would be Backup if they received the
 * advertisements of this router.
 */
const byRank = (one: Actives[number], other: Actives[number]): number =>
  other.priority - one.priority || compareAddresses(address(other.peer), address(one.peer))

/** Compares two sets of routers. The followed router and the priorities do not matter. */
const isSame = (one: Actives, other: Actives): boolean =>
  one.length === other.length && one.every(({ peer }) => other.some((each) => each.peer === peer))
