/**
 * Duplicate address detection of one router while it is Active, and the reaction (`onDuplicate`) to another host that
 * has an address as well. This file decides how often the router announces while another host has an address, and how
 * long a router that has given way stays Backup (docs/adr/0018). This file knows nothing about frames, the limit of
 * questions (detection-schedule.ts), and the log.
 */
import {
  ANNOUNCE_SPACING,
  askedElsewhere,
  askNow,
  canBeAskedElsewhere,
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
import {
  answerToDuplicate,
  type DuplicateRouter,
  type OnDuplicate,
  outranks,
} from '../../../vrrp/extensions/duplicate.ts'
import type { Address } from '../../../wire/address.ts'
import { type Mac, virtualRouterMac } from '../../../wire/mac.ts'
import type { Millis } from '../../../wire/units.ts'
import type { Recorder } from '../../telemetry/recorder.ts'
import { ANSWERED_WITHIN, type HeardAnnouncement } from '../arp-listener.ts'
import { DuplicateReport } from './duplicate-report.ts'
import { electionTime, timeToBeHeard } from './election-time.ts'
import { HeardRouters } from './heard-routers.ts'
import type { FoundDuplicate, WatchedRouter } from './watched-router.ts'

export class DuplicateDetection {
  readonly #router: WatchedRouter
  readonly #report: DuplicateReport
  readonly #routers: HeardRouters
  #detection: Detection | undefined
  /** Competing Active to which this router has given its addresses; `undefined` if this router has not given way. */
  #yieldedTo: Address | undefined
  #askedAt: Millis | undefined
  /** Milliseconds between two questions of the guardian's clock; `undefined` while the engine asks. */
  #repeated: Millis | undefined
  readonly #foundAt = new Map<string, Millis>()
  readonly #announcedAt = new Map<Address, Millis>()

  constructor(router: WatchedRouter, recorder: Recorder) {
    this.#router = router
    this.#report = new DuplicateReport(router, recorder)
    const { family, vrid } = router.parameters
    this.#routers = new HeardRouters(virtualRouterMac(vrid, family))
  }

  // When ---------------------------------------------------------------------------------------------------------------

  /** Starts detection when the router becomes Active. */
  begin(now: Millis): void {
    this.#stop()
    const { parameters, io } = this.#router
    if (parameters.extensions.duplicateDetection !== true || io === undefined) return
    this.#detection = startDetection(parameters.addresses, now, io.detection.firstDelay())
  }

  /**
   * Ends detection, because the router is no longer Active. A router that gave its addresses up keeps asking until no
   * other host answers.
   */
  end(): void {
    if (this.#yieldedTo === undefined) this.#stop()
  }

  follow(now: Millis): void {
    const { parameters, spec, state } = this.#router
    const { onDuplicate } = spec
    if (parameters.extensions.duplicateDetection !== true) this.#stop()
    else if (this.#detection === undefined) {
      if (state.name === 'Active') this.begin(now)
    } else {
      this.#detection = withoutAllowed(withAddresses(this.#detection, parameters.addresses), this.#rules(now))
    }
    const isOver = this.#detection === undefined || onDuplicate !== 'yield' || this.holders.length === 0
    if (this.#yieldedTo !== undefined && isOver) this.#comeBack(now)
  }

  /** True if questions may be sent. A router that stops being Active asks nothing more. */
  get isOn(): boolean {
    return this.#detection !== undefined && (this.#router.state.name === 'Active' || this.#yieldedTo !== undefined)
  }

  get nextAt(): Millis | undefined {
    return this.#asking && nextQuestionAt(this.#asking)
  }

  get neededAt(): Millis | undefined {
    return this.#asking && questionNeededAt(this.#asking)
  }

  /** The detection if this router sends its questions; `undefined` if there is none, or if the clock asks. */
  get #asking(): Detection | undefined {
    return this.isOn && this.#repeated === undefined ? this.#detection : undefined
  }

  /** Tells whether the guardian's clock can ask for the engine, because nothing but the questions is to be done. */
  canBeRepeated(now: Millis): boolean {
    return this.#detection !== undefined && this.isOn && canBeAskedElsewhere(this.#detection, now)
  }

  /** Leaves the questions to the guardian's clock, which asks once in a period (docs/adr/0086). */
  repeat(period: Millis): void {
    this.#repeated = period
  }

  /** Lets the engine ask again. `askedAt`: time of the clock's last question; `undefined` if it has not asked. */
  takeBack(askedAt: Millis | undefined): void {
    if (this.#detection !== undefined && askedAt !== undefined && this.#repeated !== undefined) {
      this.#askedAt = askedAt
      this.#detection = askedElsewhere(this.#detection, askedAt, this.#repeated)
    }
    this.#repeated = undefined
  }

  // Questions ----------------------------------------------------------------------------------------------------------

  /** Returns the VIPs to ask the LAN for now. This function also handles duplicate holders that have not answered. */
  takeQuestions(step: DetectionStep, now: Millis): readonly Address[] {
    if (this.#detection === undefined || !this.isOn) return []
    const before = this.#detection
    const { detection, questions, gone, began } = askNow(before, step, now)
    this.#detection = detection
    if (questions.length > 0) this.#askedAt = now
    const nameless = this.#isNameless(now) ? this.#routers.sources(this.#peers) : []
    if (began) {
      for (const holder of gone) this.#lose(holder, now)
      if (this.#yieldedTo !== undefined && this.holders.length === 0) {
        // A priority counts for one yield only: if both routers gave way, neither router would have the addresses.
        this.#routers.forget(this.#yieldedTo)
        this.#comeBack(now)
        return []
      }
      const known = before.suspects.filter(({ confirmed }) => confirmed)
      const answering = known.filter(({ unanswered }) => unanswered === 0)
      this.#act(answering, now)
      // Clients may still send to a duplicate holder that did not answer, so the router announces its addresses early.
      const silent = known.filter(({ unanswered }) => unanswered === 1).map(({ address }) => address)
      for (const address of silent) this.#announcedAt.delete(address)
      this.#announceOver(silent, now)
    }
    // The addresses of routers come before the VIPs, because a report about a duplicate holder names its router.
    return [...nameless, ...questions]
  }

  hasJustAsked(heardAt: Millis): boolean {
    return this.#askedAt !== undefined && heardAt - this.#askedAt <= ANSWERED_WITHIN
  }

  // Answers ------------------------------------------------------------------------------------------------------------

  hear({ address, mac, isAnswer }: HeardAnnouncement, heardAt: Millis, now: Millis): void {
    if (this.#detection === undefined || !this.isOn || !isAnswer) return
    if (this.#routers.name(address, mac, this.#peers)) this.#learn(address, mac, now)
    if (this.#detection === undefined) return
    const heard = hearAnswer(this.#detection, this.#rules(now), { address, mac }, heardAt)
    this.#detection = heard.detection
    if (heard.found) this.#find({ address, mac }, now)
  }

  /** Notes an advertisement for this VRID, before the router handles it. */
  hearAdvertisement(source: Address, priority: number, heardAt: Millis, now: Millis): void {
    this.#routers.note(source, priority, heardAt)
    if (this.#yieldedTo === undefined || priority === 0) return
    // The election works again. If the other router has a lower priority, we would be Active beside it.
    const isAbove = outranks({ source, priority }, this.#router.parameters)
    if (source === this.#yieldedTo || isAbove) this.#comeBack(now)
  }

  /** Tells whether answers with this MAC are ignored (`duplicateAllowed`). */
  allows(mac: Mac): boolean {
    return this.#router.spec.duplicateAllowed.includes(mac)
  }

  get holders(): readonly DuplicateHolder[] {
    return this.#detection === undefined || !this.isOn ? [] : duplicateHolders(this.#detection)
  }

  list(now: Millis): readonly FoundDuplicate[] {
    return this.holders.map(({ address, mac }) => {
      const foundAt = this.#foundAt.get(`${address} ${mac}`) ?? now
      return { address, mac, foundAt, ...this.#behind(mac, now) }
    })
  }

  // Reactions ----------------------------------------------------------------------------------------------------------

  /** Returns the settings of the detection. Frames with MACs of this node are dropped before (arp-listener.ts). */
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

  /** Tells whether a suspected host has an unknown router, so that an election might end the duplicate. */
  #isNameless(now: Millis): boolean {
    const suspects = this.#detection?.suspects ?? []
    return suspects.some(({ confirmed, mac }) => !confirmed && !this.#routers.isRouter(mac, now))
  }

  /** Returns the router with this MAC, and the priority of that router; `undefined` if its priority is not known. */
  #competitorAt(mac: Mac, now: Millis): DuplicateRouter | undefined {
    const { source, priority } = this.#routers.behind(mac, now) ?? {}
    return source === undefined || priority === undefined ? undefined : { source, priority }
  }

  #reactionTo(mac: Mac, now: Millis): OnDuplicate {
    const { parameters, spec } = this.#router
    return answerToDuplicate(spec.onDuplicate, parameters, this.#competitorAt(mac, now))
  }

  #find(holder: DuplicateHolder, now: Millis): void {
    const { address, mac } = holder
    const reaction = this.#router.state.name === 'Active' ? this.#reactionTo(mac, now) : 'alarm'
    this.#foundAt.set(`${address} ${mac}`, now)
    this.#report.found(holder, this.#behind(mac, now), reaction, now)
    this.#act([holder], now)
  }

  /** Handles a MAC that now is known to belong to a router. The reaction to the duplicate may change. */
  #learn(source: Address, mac: Mac, now: Millis): void {
    if (this.#detection !== undefined)
      this.#detection = withPatience(this.#detection, mac, electionTime(this.#router.parameters))
    const owned = this.holders.filter((holder) => holder.mac === mac)
    if (owned.length === 0) return
    this.#report.named(mac, source)
    this.#act(owned, now)
  }

  #lose(holder: DuplicateHolder, now: Millis): void {
    this.#foundAt.delete(`${holder.address} ${holder.mac}`)
    this.#report.gone(holder, now)
  }

  #act(holders: readonly DuplicateHolder[], now: Millis): void {
    const router = this.#router
    if (router.state.name !== 'Active' || holders.length === 0) return
    const winner = holders.find(({ mac }) => this.#reactionTo(mac, now) === 'yield')
    const competitor = winner === undefined ? undefined : this.#competitorAt(winner.mac, now)
    if (competitor !== undefined) {
      this.#yieldedTo = competitor.source
      router.setFault('duplicateHolder', true, true, now)
      return
    }
    this.#announceOver(
      holders.map(({ address }) => address),
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
