/**
 * Duplicate address detection of one router while it is Active, and what `onDuplicate` does about another host that has
 * an address as well. Decided here: how often is announced over a duplicate that lasts, and how long a router that has
 * yielded to one stays away (docs/adr/0018). Refuses to know frames, when the interface has room for a question
 * (detection-schedule.ts), and what people read of it (duplicate-report.ts).
 */
import {
  askNow,
  type Detection,
  type DetectionRules,
  type DetectionStep,
  type DuplicateHolder,
  duplicateHolders,
  hearAnswer,
  nextQuestionAt,
  questionNeededAt,
  startDetection,
  withAddresses,
  withoutAllowed,
  withPatience,
} from '../../../arp/duplicate-detection.ts'
import type { Fault } from '../../../vrrp/event.ts'
import type { DuplicateRouter, OnDuplicate } from '../../../vrrp/extensions/duplicate.ts'
import { answerToDuplicate, outranks } from '../../../vrrp/extensions/duplicate.ts'
import type { Parameters } from '../../../vrrp/parameters.ts'
import type { State } from '../../../vrrp/state.ts'
import type { Address } from '../../../wire/address.ts'
import { type Mac, virtualRouterMac } from '../../../wire/mac.ts'
import type { Millis } from '../../../wire/units.ts'
import type { RouterSpec } from '../../router/router-spec.ts'
import type { Recorder } from '../../telemetry/recorder.ts'
import { ANSWERED_WITHIN, type HeardClaim } from '../arp-listener.ts'
import { DuplicateReport } from './duplicate-report.ts'
import { electionTime, timeToBeHeard } from './election-time.ts'
import { HeardRouters, type NamedRouter } from './heard-routers.ts'

/** Milliseconds. Two that announce over each other move the clients each time; RFC 5227 §2.4 has this bound for the same reason. */
const ANNOUNCE_SPACING = 10_000

/** Another host that has an address of ours, for people. */
export type FoundDuplicate = DuplicateHolder & {
  readonly foundAt: Millis
  /** The router behind it, if one was heard to advertise, or is a listed peer. */
  readonly router: NamedRouter | undefined
  /** Time of that router's last advertisement. */
  readonly heardAt: Millis | undefined
}

/** The router whose addresses they are. */
export type WatchedRouter = {
  readonly name: string
  readonly parameters: Parameters
  readonly state: State
  readonly spec: Pick<RouterSpec, 'duplicateAllowed' | 'onDuplicate'>
  readonly io: { readonly detection: { firstDelay(): number } } | undefined
  announceOver(addresses: readonly Address[], now: Millis): void
  setFault(fault: Fault, present: boolean, canSend: boolean, now: Millis): void
}

export class DuplicateDetection {
  readonly #router: WatchedRouter
  readonly #report: DuplicateReport
  readonly #routers: HeardRouters
  #detection: Detection | undefined
  /** Router to which this one has yielded. */
  #yieldedTo: Address | undefined
  #askedAt: Millis | undefined
  readonly #foundAt = new Map<string, Millis>()
  readonly #announcedAt = new Map<Address, Millis>()

  constructor(router: WatchedRouter, recorder: Recorder) {
    this.#router = router
    this.#report = new DuplicateReport(router, recorder)
    const { family, vrid } = router.parameters
    this.#routers = new HeardRouters(virtualRouterMac(vrid, family))
  }

  // When ---------------------------------------------------------------------------------------------------------------

  /** The router has become Active. */
  begin(now: Millis): void {
    this.#stop()
    const { parameters, io } = this.#router
    if (parameters.extensions.duplicateDetection !== true || io === undefined) return
    this.#detection = startDetection(parameters.addresses, now, io.detection.firstDelay())
  }

  /** The router is not Active any more. One that has yielded goes on looking for a moment in which no host answers. */
  end(): void {
    if (this.#yieldedTo === undefined) this.#stop()
  }

  /** Follows a reload. */
  follow(now: Millis): void {
    const { parameters, spec, state } = this.#router
    const { onDuplicate } = spec
    if (parameters.extensions.duplicateDetection !== true) this.#stop()
    else if (this.#detection === undefined) {
      if (state.name === 'Active') this.begin(now)
    } else {
      this.#detection = withoutAllowed(withAddresses(this.#detection, parameters.addresses), this.#rules(now))
    }
    const isOver = this.#detection === undefined || onDuplicate !== 'yield' || this.owners.length === 0
    if (this.#yieldedTo !== undefined && isOver) this.#comeBack(now)
  }

  /** It may ask. A router that is Leaving or Returning since this turn asks no more, before the effects of its step run. */
  get isOn(): boolean {
    return this.#detection !== undefined && (this.#router.state.name === 'Active' || this.#yieldedTo !== undefined)
  }

  get nextAt(): Millis | undefined {
    if (this.#detection === undefined || !this.isOn) return undefined
    return nextQuestionAt(this.#detection)
  }

  /** Until then a question may wait for an alarm of another reason. */
  get neededAt(): Millis | undefined {
    if (this.#detection === undefined || !this.isOn) return undefined
    return questionNeededAt(this.#detection)
  }

  // Questions ----------------------------------------------------------------------------------------------------------

  /** Returns the addresses to ask for now; reports and acts on owners that have not answered. */
  takeQuestions(step: DetectionStep, now: Millis): readonly Address[] {
    if (this.#detection === undefined || !this.isOn) return []
    const before = this.#detection
    const { detection, questions, gone, began } = askNow(before, step, now)
    this.#detection = detection
    if (questions.length > 0) this.#askedAt = now
    const nameless = this.#isNameless(now) ? this.#routers.sources(this.#peers) : []
    if (began) {
      for (const owner of gone) this.#lose(owner, now)
      if (this.#yieldedTo !== undefined && this.owners.length === 0) {
        // One yield for what it said once: if it has yielded to us as well, neither has the addresses.
        this.#routers.forget(this.#yieldedTo)
        this.#comeBack(now)
        return []
      }
      const known = before.suspects.filter(({ confirmed }) => confirmed)
      this.#act(
        known.filter(({ unanswered }) => unanswered === 0),
        now,
      )
      // The last question was not answered: clients that still send there must not wait until the host is gone for certain.
      const silent = known.filter(({ unanswered }) => unanswered === 1).map(({ address }) => address)
      for (const address of silent) this.#announcedAt.delete(address)
      this.#announceOver(silent, now)
    }
    // A name comes before the address for which it is needed.
    return [...nameless, ...questions]
  }

  /** Reports whether an answer of this time is one to a question of detection. */
  hasJustAsked(heardAt: Millis): boolean {
    return this.#askedAt !== undefined && heardAt - this.#askedAt <= ANSWERED_WITHIN
  }

  // Answers ------------------------------------------------------------------------------------------------------------

  hear({ address, mac, isAnswer }: HeardClaim, heardAt: Millis, now: Millis): void {
    if (this.#detection === undefined || !this.isOn || !isAnswer) return
    if (this.#routers.name(address, mac, this.#peers)) this.#learn(address, mac, now)
    // With a name it may have become irrelevant.
    if (this.#detection === undefined) return
    const heard = hearAnswer(this.#detection, this.#rules(now), { address, mac }, heardAt)
    this.#detection = heard.detection
    if (heard.found) this.#find({ address, mac }, now)
  }

  /** An advertisement for this VRID, before the router acts on it. */
  hearAdvertisement(source: Address, priority: number, heardAt: Millis, now: Millis): void {
    this.#routers.note(source, priority, heardAt)
    if (this.#yieldedTo === undefined || priority === 0) return
    // The election works again. A lower router proves nothing: we would be Active beside the one we yielded to.
    const isAbove = outranks({ source, priority }, this.#router.parameters)
    if (source === this.#yieldedTo || isAbove) this.#comeBack(now)
  }

  /** Reports whether claims of this MAC are ignored (`duplicateAllowed`). */
  allows(mac: Mac): boolean {
    return this.#router.spec.duplicateAllowed.includes(mac)
  }

  /** The certain ones. */
  get owners(): readonly DuplicateHolder[] {
    return this.#detection === undefined || !this.isOn ? [] : duplicateHolders(this.#detection)
  }

  list(now: Millis): readonly FoundDuplicate[] {
    return this.owners.map(({ address, mac }) => {
      const foundAt = this.#foundAt.get(`${address} ${mac}`) ?? now
      return { address, mac, foundAt, ...this.#behind(mac, now) }
    })
  }

  // What follows -------------------------------------------------------------------------------------------------------

  /** Claims of this node's own MACs do not reach this file (arp-listener.ts). */
  #rules(now: Millis): DetectionRules {
    const { parameters, spec, state } = this.#router
    return {
      own: [],
      allowed: spec.duplicateAllowed,
      patience: (mac, firstAt) =>
        this.#routers.isRouter(mac, now) ? electionTime(parameters) : timeToBeHeard(state, firstAt),
      isNameless: (mac) => !this.#routers.isRouter(mac, now) && this.#routers.sources(this.#peers).length > 0,
    }
  }

  get #peers(): readonly Address[] {
    return this.#router.parameters.peers.map(({ address }) => address)
  }

  #behind(mac: Mac, now: Millis) {
    const router = this.#routers.behind(mac, now)
    return { router, heardAt: router === undefined ? undefined : this.#routers.heardAt(router.source) }
  }

  /** Reports whether there is a suspect of which it is not known whether an election could end it. */
  #isNameless(now: Millis): boolean {
    const suspects = this.#detection?.suspects ?? []
    return suspects.some(({ confirmed, mac }) => !confirmed && !this.#routers.isRouter(mac, now))
  }

  /** Returns `undefined` if no priority was heard of the host at this MAC. */
  #competitorAt(mac: Mac, now: Millis): DuplicateRouter | undefined {
    const { source, priority } = this.#routers.behind(mac, now) ?? {}
    return source === undefined || priority === undefined ? undefined : { source, priority }
  }

  #reactionTo(mac: Mac, now: Millis): OnDuplicate {
    const { parameters, spec } = this.#router
    return answerToDuplicate(spec.onDuplicate, parameters, this.#competitorAt(mac, now))
  }

  #find(owner: DuplicateHolder, now: Millis): void {
    const { address, mac } = owner
    const reaction = this.#router.state.name === 'Active' ? this.#reactionTo(mac, now) : 'alarm'
    this.#foundAt.set(`${address} ${mac}`, now)
    this.#report.found(owner, this.#behind(mac, now), reaction, now)
    this.#act([owner], now)
  }

  /** The name of a MAC comes late, but may change what is to be done. */
  #learn(source: Address, mac: Mac, now: Millis): void {
    if (this.#detection !== undefined)
      this.#detection = withPatience(this.#detection, mac, electionTime(this.#router.parameters))
    const owned = this.owners.filter((owner) => owner.mac === mac)
    if (owned.length === 0) return
    this.#report.named(mac, source)
    this.#act(owned, now)
  }

  #lose(owner: DuplicateHolder, now: Millis): void {
    this.#foundAt.delete(`${owner.address} ${owner.mac}`)
    this.#report.gone(owner, now)
  }

  #act(owners: readonly DuplicateHolder[], now: Millis): void {
    const router = this.#router
    if (router.state.name !== 'Active' || owners.length === 0) return
    const winner = owners.find(({ mac }) => this.#reactionTo(mac, now) === 'yield')
    const competitor = winner === undefined ? undefined : this.#competitorAt(winner.mac, now)
    if (competitor !== undefined) {
      this.#yieldedTo = competitor.source
      router.setFault('duplicateHolder', true, true, now)
      return
    }
    this.#announceOver(
      owners.map(({ address }) => address),
      now,
    )
  }

  #announceOver(addresses: readonly Address[], now: Millis): void {
    const router = this.#router
    if (router.state.name !== 'Active' || router.spec.onDuplicate === 'alarm') return
    const isDue = (address: Address) =>
      now - (this.#announcedAt.get(address) ?? Number.NEGATIVE_INFINITY) >= ANNOUNCE_SPACING
    const due = [...new Set(addresses)].filter(isDue)
    for (const address of due) this.#announcedAt.set(address, now)
    if (due.length > 0) router.announceOver(due, now)
  }

  #comeBack(now: Millis): void {
    this.#yieldedTo = undefined
    this.#stop()
    this.#router.setFault('duplicateHolder', false, false, now)
  }

  #stop(): void {
    this.#detection = undefined
    this.#askedAt = undefined
    this.#foundAt.clear()
    this.#announcedAt.clear()
  }
}
