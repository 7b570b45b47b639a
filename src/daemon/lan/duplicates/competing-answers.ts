/**
 * Handles another host that answers for an address of a router while the router is Active: what the answer means for
 * the state, and which host answers. This file decides whether an answer belongs to the question before an
 * advertisement (docs/adr/0007), and when such a host no longer counts. This file knows nothing about frames, and what
 * the state machine does about a competing Active (vrrp/extensions/silent-active.ts).
 */
import { type DuplicateHolder, HANDOVER } from '../../../arp/duplicate-detection.ts'
import { LOG } from '../../../log/log.ts'
import { atOtherLevel } from '../../../log/log-event.ts'
import type { Event } from '../../../vrrp/event.ts'
import type { Parameters } from '../../../vrrp/parameters.ts'
import type { State } from '../../../vrrp/state.ts'
import type { Address } from '../../../wire/address.ts'
import { type Mac, virtualRouterMac } from '../../../wire/mac.ts'
import type { Millis } from '../../../wire/units.ts'
import { awaitsAnnouncementsIn } from '../../router/held-state.ts'
import type { RouterSpec } from '../../router/router-spec.ts'
import type { Recorder } from '../../telemetry/recorder.ts'
import type { RouterCounters } from '../../telemetry/router-counters.ts'
import { ANSWERED_WITHIN, type HeardAnnouncement } from '../arp-listener.ts'
import type { DuplicateDetection } from './duplicate-detection.ts'

/**
 * Milliseconds without an answer after which the other host no longer counts. The router asks at every advertisement,
 * or by duplicate address detection at least every 3.2 s.
 */
const GONE_AFTER = 10_000

export type CompetingHost = {
  readonly address: Address
  readonly mac: Mac
  readonly since: Millis
  readonly lastAt: Millis
  readonly answers: number
}

/** The router with an address for which another host answers. */
export type ContestedRouter = {
  readonly name: string
  readonly parameters: Parameters
  readonly state: State
  readonly spec: Pick<RouterSpec, 'onDuplicate'>
  readonly history: { readonly since: { readonly at: Millis } }
  readonly duplicates: Pick<DuplicateDetection, 'allows' | 'hasJustAsked' | 'holders'>
  readonly counters: RouterCounters
}

export class CompetingAnswers {
  readonly #router: ContestedRouter
  readonly #post: (event: Event, now: Millis) => void
  readonly #recorder: Recorder
  #host: CompetingHost | undefined
  /**
   * Time of the last question that this router sent before or after an advertisement; `undefined` if this router has
   * not asked yet.
   */
  #askedAt: Millis | undefined

  constructor(router: ContestedRouter, post: (event: Event, now: Millis) => void, recorder: Recorder) {
    this.#router = router
    this.#post = post
    this.#recorder = recorder
  }

  /** Notes that the router asks the LAN which other host has its first VIP. */
  asked(now: Millis): void {
    this.#askedAt = now
  }

  /** Handles an announcement or answer of another host for an address of the router. */
  hear({ address, mac, isAnswer }: HeardAnnouncement, heardAt: Millis, now: Millis): void {
    const { duplicates, parameters } = this.#router
    if (!parameters.addresses.includes(address) || duplicates.allows(mac)) return
    if (awaitsAnnouncementsIn(this.#router.state)) this.#post({ kind: 'announcementHeard', address, heardAt }, now)
    if (this.#router.state.name !== 'Active' || !isAnswer) return
    this.#router.counters.countCompetingAnswer()
    if (this.#belongsToQuestion({ address, mac }, heardAt)) {
      const { family, vrid } = this.#router.parameters
      this.#post({ kind: 'addressAnswered', address, heardAt, virtualMac: mac === virtualRouterMac(vrid, family) }, now)
    }
    const since = heardAt - this.#router.history.since.at
    if (since >= HANDOVER) this.#note(address, mac, heardAt)
    this.#log(address, mac, since)
  }

  /** Returns the host that answered last; `undefined` if no host answers any longer. */
  at(now: Millis): CompetingHost | undefined {
    return this.#host !== undefined && now - this.#host.lastAt < GONE_AFTER ? this.#host : undefined
  }

  #note(address: Address, mac: Mac, heardAt: Millis): void {
    const known = this.at(heardAt)
    const isKnown = known?.mac === mac && known.address === address
    const since = isKnown ? known.since : heardAt
    this.#host = { address, mac, since, lastAt: heardAt, answers: (isKnown ? known.answers : 0) + 1 }
  }

  /**
   * Tells whether an answer belongs to the question before an advertisement. Duplicate address detection handles
   * answers to its own questions. If both have asked, duplicate address detection also handles a known duplicate
   * holder. A known duplicate holder always answers, and detection limits the announcements. With `alarm` no answer
   * causes an announcement.
   */
  #belongsToQuestion({ address, mac }: DuplicateHolder, heardAt: Millis): boolean {
    const { duplicates, parameters, spec } = this.#router
    if (spec.onDuplicate === 'alarm') return false
    if (!duplicates.hasJustAsked(heardAt)) return true
    if (duplicates.holders.some((holder) => holder.address === address && holder.mac === mac)) return false
    const { addresses } = parameters
    return address === addresses[0] && this.#askedAt !== undefined && heardAt - this.#askedAt <= ANSWERED_WITHIN
  }

  /**
   * Logs an answer of another host. `since` is the time since the takeover in milliseconds, in which the last Active
   * may still answer.
   */
  #log(address: Address, mac: Mac, since: number): void {
    const { name } = this.#router
    const isHandover = since < HANDOVER
    this.#recorder.logLimited(
      `${name} competing ${mac}${isHandover ? ' handover' : ''}`,
      atOtherLevel(LOG.competingAnswer, isHandover),
      isHandover
        ? `${name}: ${mac} still answers for ${address}, ${Math.round(since)} ms after the takeover`
        : `${name}: another host, ${mac}, answers for ${address} as well`,
      { router: name, address, mac },
    )
  }
}
