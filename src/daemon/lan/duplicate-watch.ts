/**
 * Somebody else who answers for the addresses of one router: runs its radar while it is Active, tells what was found
 * and what became of it, and does what `onDuplicate` says. Decided here: how often is announced over a duplicate that
 * lasts, and how long a router that has yielded to one stays away (docs/adr/0018). Refuses to know frames, and when the
 * interface has room for a question (radar-schedule.ts).
 */
import {
  askNow,
  type DuplicateOwner,
  duplicateOwners,
  hearAnswer,
  nextQuestionAt,
  questionNeededAt,
  type Radar,
  type RadarRules,
  type RadarStep,
  radarFrom,
  withoutAllowed,
  withPatience,
  withRadarAddresses,
} from '../../arp/radar.ts'
import type { Fault } from '../../vrrp/event.ts'
import { answerToDuplicate, type DuplicateRival, outranks } from '../../vrrp/extensions/duplicate.ts'
import type { Parameters } from '../../vrrp/parameters.ts'
import type { State } from '../../vrrp/state.ts'
import type { Address } from '../../wire/address.ts'
import { type Mac, virtualRouterMac } from '../../wire/mac.ts'
import type { Millis } from '../../wire/units.ts'
import type { RouterSpec } from '../router-spec.ts'
import type { Recorder } from '../telemetry/recorder.ts'
import { RATES, TokenBucket } from '../telemetry/token-bucket.ts'
import { ANSWERED_WITHIN, type HeardClaim } from './arp-listener.ts'
import { electionTime, timeToBeHeard } from './election-time.ts'
import { HeardRouters, type NamedRouter } from './heard-routers.ts'

/** Two that announce over each other move the clients each time: RFC 5227 §2.4 has this bound for the same reason. */
const ANNOUNCE_SPACING = 10_000

/** Another host that has an address of ours, for people. */
export type FoundDuplicate = DuplicateOwner & {
  readonly foundAt: Millis
  /** The router behind it, where one was heard to advertise, or is a listed peer. */
  readonly router: NamedRouter | undefined
  /** Of that router's last advertisement. */
  readonly heardAt: Millis | undefined
}

/** The router whose addresses they are. */
export type WatchedRouter = {
  readonly name: string
  readonly parameters: Parameters
  readonly state: State
  readonly spec: Pick<RouterSpec, 'duplicateAllowed' | 'onDuplicate'>
  readonly io: { detectionDelay(): number } | undefined
  announceOver(addresses: readonly Address[], now: Millis): void
  setFault(fault: Fault, present: boolean, canSend: boolean, now: Millis): void
}

export class DuplicateWatch {
  readonly #router: WatchedRouter
  readonly #recorder: Recorder
  readonly #routers: HeardRouters
  #radar: Radar | undefined
  /** Set while we have yielded to this router. */
  #yieldedTo: Address | undefined
  #askedAt: Millis | undefined
  readonly #foundAt = new Map<string, Millis>()
  readonly #announcedAt = new Map<Address, Millis>()
  readonly #bucket = new TokenBucket(RATES.duplicate)

  constructor(router: WatchedRouter, recorder: Recorder) {
    this.#router = router
    this.#recorder = recorder
    const { family, vrid } = router.parameters
    this.#routers = new HeardRouters(virtualRouterMac(vrid, family))
  }

  // When ---------------------------------------------------------------------------------------------------------

  /** It has become Active: `delay` of the first question, for routers that become so together. */
  begin(now: Millis): void {
    this.#stop()
    const { parameters, io } = this.#router
    if (!parameters.knobs.radar || io === undefined) return
    this.#radar = radarFrom(parameters.addresses, now, io.detectionDelay())
  }

  /** It is Active no more; who has yielded goes on looking for a moment in which nobody answers. */
  end(): void {
    if (this.#yieldedTo === undefined) this.#stop()
  }

  /** A reload. */
  follow(now: Millis): void {
    const { parameters, spec, state } = this.#router
    const { onDuplicate } = spec
    if (!parameters.knobs.radar) this.#stop()
    else if (this.#radar === undefined) {
      if (state.name === 'Active') this.begin(now)
    } else {
      this.#radar = withoutAllowed(withRadarAddresses(this.#radar, parameters.addresses), this.#rules(now))
    }
    const isOver = this.#radar === undefined || onDuplicate !== 'yield' || this.owners.length === 0
    if (this.#yieldedTo !== undefined && isOver) this.#comeBack(now)
  }

  /** Not before the effects of a step are run: whoever is Leaving or Returning since this turn asks no more. */
  get isOn(): boolean {
    return this.#radar !== undefined && (this.#router.state.name === 'Active' || this.#yieldedTo !== undefined)
  }

  get nextAt(): Millis | undefined {
    if (this.#radar === undefined || !this.isOn) return undefined
    return nextQuestionAt(this.#radar)
  }

  /** Until then a question may wait for an alarm of somebody else. */
  get neededAt(): Millis | undefined {
    if (this.#radar === undefined || !this.isOn) return undefined
    return questionNeededAt(this.#radar)
  }

  // Questions ----------------------------------------------------------------------------------------------------

  /** For whom to ask now; what has gone unanswered is told and acted upon. */
  takeQuestions(step: RadarStep, now: Millis): readonly Address[] {
    if (this.#radar === undefined || !this.isOn) return []
    const before = this.#radar
    const { radar, questions, gone, began } = askNow(before, step, now)
    this.#radar = radar
    if (questions.length > 0) this.#askedAt = now
    const nameless = this.#isNameless(now) ? this.#routers.sources(this.#peers) : []
    if (began) {
      for (const owner of gone) this.#lose(owner, now)
      if (this.#yieldedTo !== undefined && this.owners.length === 0) {
        // What it said once is worth one yield: if it has yielded to us as well, nobody has the addresses.
        this.#routers.forget(this.#yieldedTo)
        this.#comeBack(now)
        return []
      }
      const known = before.suspects.filter(({ confirmed }) => confirmed)
      this.#act(
        known.filter(({ unanswered }) => unanswered === 0),
        now,
      )
      // The last question was not answered: whoever still sends to it must not wait until it has gone for certain.
      const silent = known.filter(({ unanswered }) => unanswered === 1).map(({ address }) => address)
      for (const address of silent) this.#announcedAt.delete(address)
      this.#announceOver(silent, now)
    }
    // First, so that a name comes before what it is wanted for.
    return [...nameless, ...questions]
  }

  /** The answer is one to a question of ours, and to no other that the router has asked. */
  hasJustAsked(heardAt: Millis): boolean {
    return this.#askedAt !== undefined && heardAt - this.#askedAt <= ANSWERED_WITHIN
  }

  // Answers ------------------------------------------------------------------------------------------------------

  hear({ address, mac, isAnswer }: HeardClaim, heardAt: Millis, now: Millis): void {
    if (this.#radar === undefined || !this.isOn || !isAnswer) return
    if (this.#routers.name(address, mac, this.#peers)) this.#learn(address, mac, now)
    // Named, it may be out of the running.
    if (this.#radar === undefined) return
    const heard = hearAnswer(this.#radar, this.#rules(now), { address, mac }, heardAt)
    this.#radar = heard.radar
    if (heard.found) this.#find({ address, mac }, now)
  }

  /** An advertisement for this VRID, before the router acts on it. */
  hearAdvertisement(source: Address, priority: number, heardAt: Millis, now: Millis): void {
    this.#routers.note(source, priority, heardAt)
    if (this.#yieldedTo === undefined || priority === 0) return
    // The election works again. Somebody lower proves nothing: we would be Active beside the one we yielded to.
    const isAbove = outranks({ source, priority }, this.#router.parameters)
    if (source === this.#yieldedTo || isAbove) this.#comeBack(now)
  }

  /** Not a host whose claims mean anything (`duplicateAllowed`). */
  allows(mac: Mac): boolean {
    return this.#router.spec.duplicateAllowed.includes(mac)
  }

  /** Certain ones. */
  get owners(): readonly DuplicateOwner[] {
    return this.#radar === undefined || !this.isOn ? [] : duplicateOwners(this.#radar)
  }

  list(now: Millis): readonly FoundDuplicate[] {
    return this.owners.map(({ address, mac }) => {
      const foundAt = this.#foundAt.get(`${address} ${mac}`) ?? now
      const router = this.#routers.behind(mac, now)
      const heardAt = router === undefined ? undefined : this.#routers.heardAt(router.source)
      return { address, mac, foundAt, router, heardAt }
    })
  }

  // What follows -------------------------------------------------------------------------------------------------

  /** Claims of this node's own MACs do not come so far (arp-listener.ts). */
  #rules(now: Millis): RadarRules {
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

  /** Somebody is suspected, and it is not known whether an election could end it. */
  #isNameless(now: Millis): boolean {
    const suspects = this.#radar?.suspects ?? []
    return suspects.some(({ confirmed, mac }) => !confirmed && !this.#routers.isRouter(mac, now))
  }

  /** Undefined: whoever it is, it was not heard to say a priority. */
  #rivalAt(mac: Mac, now: Millis): DuplicateRival | undefined {
    const { source, priority } = this.#routers.behind(mac, now) ?? {}
    return source === undefined || priority === undefined ? undefined : { source, priority }
  }

  #reactionTo(mac: Mac, now: Millis) {
    const { parameters, spec } = this.#router
    return answerToDuplicate(spec.onDuplicate, parameters, this.#rivalAt(mac, now))
  }

  #find(owner: DuplicateOwner, now: Millis): void {
    const { address, mac } = owner
    const { name } = this.#router
    const router = this.#routers.behind(mac, now)
    const reaction = this.#router.state.name === 'Active' ? this.#reactionTo(mac, now) : 'alarm'
    this.#foundAt.set(`${address} ${mac}`, now)
    this.#record(owner, true, now, { ...(router === undefined ? {} : { peer: router.source }), reaction })
    this.#recorder.logLimited(
      `${name} duplicate ${mac} ${address}`,
      'warn',
      `${name}: duplicate owner: ${mac} (${this.#wordsFor(router, now)}) has ${address} as well: ${WORDS[reaction]}`,
      { router: name, address, mac, peer: router?.source, onDuplicate: reaction },
    )
    this.#act([owner], now)
  }

  /** A priority that was heard long ago may be another one by now, and says so. */
  #wordsFor(router: NamedRouter | undefined, now: Millis): string {
    if (router === undefined) return 'no VRRP heard from it'
    const ago = now - (this.#routers.heardAt(router.source) ?? now)
    const isOld = ago > electionTime(this.#router.parameters)
    return `router ${router.source}, priority ${router.priority ?? 'unheard'}${isOld ? ` when last heard, ${Math.round(ago / 1_000)} s ago` : ''}`
  }

  /** Late, but it may change what is to be done. */
  #learn(source: Address, mac: Mac, now: Millis): void {
    if (this.#radar !== undefined) this.#radar = withPatience(this.#radar, mac, electionTime(this.#router.parameters))
    const owned = this.owners.filter((owner) => owner.mac === mac)
    if (owned.length === 0) return
    const { name } = this.#router
    this.#recorder.logLimited(
      `${name} duplicate name ${mac}`,
      'warn',
      `${name}: duplicate owner: ${mac} is router ${source}`,
      { router: name, mac, peer: source },
    )
    this.#act(owned, now)
  }

  #lose(owner: DuplicateOwner, now: Millis): void {
    const { address, mac } = owner
    const { name } = this.#router
    this.#record(owner, false, now)
    this.#foundAt.delete(`${address} ${mac}`)
    this.#recorder.logLimited(
      `${name} duplicate gone ${mac} ${address}`,
      'info',
      `${name}: duplicate owner gone: ${mac} answers for ${address} no more`,
      { router: name, address, mac },
    )
  }

  #record(
    { address, mac }: DuplicateOwner,
    present: boolean,
    now: Millis,
    more: { peer?: Address; reaction?: string } = {},
  ) {
    if (this.#bucket.take(now) === undefined) return
    const router = this.#router.name
    this.#recorder.chronicle.record({ kind: 'duplicateOwner', router, address, mac, present, ...more })
  }

  #act(owners: readonly DuplicateOwner[], now: Millis): void {
    const router = this.#router
    if (router.state.name !== 'Active' || owners.length === 0) return
    const winner = owners.find(({ mac }) => this.#reactionTo(mac, now) === 'yield')
    const rival = winner === undefined ? undefined : this.#rivalAt(winner.mac, now)
    if (rival !== undefined) {
      this.#yieldedTo = rival.source
      router.setFault('duplicateOwner', true, true, now)
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
    this.#router.setFault('duplicateOwner', false, false, now)
  }

  #stop(): void {
    this.#radar = undefined
    this.#askedAt = undefined
    this.#foundAt.clear()
    this.#announcedAt.clear()
  }
}

const WORDS = {
  announce: 'gratuitous ARP or NA sent again',
  yield: 'it would win, so this router yields until it answers no more or is heard',
  alarm: 'nothing is done about it',
} as const
