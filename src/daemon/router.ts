/**
 * One virtual router at work: holds its State and says what each effect means on the interface where it runs. An effect
 * that fails becomes a new event. Who is stepped for an event is router-group.ts, when effects run and together with
 * whose is effect-runner.ts, what becomes of its addresses is address-duty.ts, and what to decide is vrrp/'s.
 */

import { type DuplicateOwner, HANDOVER } from '../arp/radar.ts'
import type { Held } from '../config/holding.ts'
import type { AnnounceSchedule } from '../config/schema/announce.ts'
import type { Track } from '../config/schema/track.ts'
import type { AddressForm } from '../config/schema/virtual-address.ts'
import type { NotifyPrograms } from '../notify/notification.ts'
import type { AdvertisementReason, Effect } from '../vrrp/effect.ts'
import type { Event, Fault } from '../vrrp/event.ts'
import type { OnDuplicate } from '../vrrp/extensions/duplicate.ts'
import { isLingering } from '../vrrp/extensions/grace-period.ts'
import { ownsAddresses, type Parameters } from '../vrrp/parameters.ts'
import { type HeardActive, INITIAL_STATE, nextDeadline, type State } from '../vrrp/state.ts'
import { activeDownInterval } from '../vrrp/timers.ts'
import type { Address } from '../wire/address.ts'
import { type Mac, virtualRouterMac } from '../wire/mac.ts'
import { type Millis, plus, sooner } from '../wire/units.ts'
import { AddressDuty } from './addresses/address-duty.ts'
import { AddressKeeper } from './addresses/address-keeper.ts'
import { AddressPlaces } from './addresses/address-places.ts'
import type { LifetimeOption } from './addresses/lifetime.ts'
import type { Act, EffectRunner, Order } from './effect-runner.ts'
import { Presence, wasSent } from './guard/presence.ts'
import { EffectivePriority } from './health/effective-priority.ts'
import { Advertiser } from './lan/advertiser.ts'
import { AdvertisingRouters } from './lan/advertising.ts'
import { ANSWERED_WITHIN, type HeardClaim } from './lan/claim-tap.ts'
import { DuplicateWatch } from './lan/duplicate-watch.ts'
import { RivalAnswers } from './lan/rival-answers.ts'
import type { WantedAddress } from './ports.ts'
import type { RouterGroup } from './router-group.ts'
import type { RouterIo } from './router-io.ts'
import { AdvertisementGaps } from './telemetry/advertisement-gaps.ts'
import { FaultNews } from './telemetry/fault-news.ts'
import type { GapNews } from './telemetry/gap-news.ts'
import { PeerNews } from './telemetry/peer-news.ts'
import { Counters, type Recorder } from './telemetry/recorder.ts'
import { suppressionWords } from './telemetry/suppressed-move.ts'
import { type TakeoverTimes, TakeoverWatch } from './telemetry/takeover-watch.ts'
import { type Entered, TransitionHistory } from './telemetry/transition-history.ts'

export type RouterSpec = {
  readonly name: string
  readonly basePriority: number
  /** Why it takes no part, by its configuration. */
  readonly configuredFault: string | undefined
  readonly track: readonly Track[]
  readonly announce: AnnounceSchedule
  /** For addresses of the other family. */
  readonly announceOther: AnnounceSchedule
  /** How its addresses are in the kernel. */
  readonly forms: readonly AddressForm[]
  readonly onDuplicate: OnDuplicate
  /** Whose answers for our addresses mean nothing. */
  readonly duplicateAllowed: readonly Mac[]
  readonly lifetime: LifetimeOption
  readonly notify: NotifyPrograms | undefined
}

/** Advertisements of an Active to which a rival may yield, and which no announcement follows anyway. */
const UNANNOUNCED: ReadonlySet<AdvertisementReason> = new Set([
  'periodic',
  'priorityZeroHeard',
  'priorityChanged',
  'parametersChanged',
])

/** Advertisements with which a router begins to answer for its addresses. */
const TAKES_OVER: ReadonlySet<AdvertisementReason> = new Set(['takeover', 'returned'])

export type RouterContext = {
  readonly group: RouterGroup
  readonly runner: EffectRunner
  readonly recorder: Recorder
  readonly takeovers: TakeoverTimes
  readonly gapNews: GapNews
}

/** Of a router in that state: see Router.holds. */
export const holdsIn = (state: State): boolean =>
  state.name === 'Active' || isLingering(state) || (state.name === 'Leaving' && state.kept.length > 0)

/** Where and as what a router was when it decided. */
type Place = {
  readonly io: RouterIo | undefined
  readonly parameters: Parameters
  /** Whom it followed until then. */
  readonly followed: HeardActive | undefined
}

export class Router {
  spec: RouterSpec
  readonly name: string
  parameters: Parameters
  io: RouterIo | undefined
  /** Which address it follows, and why; set by whoever places it. */
  following: Held | undefined
  state: State = INITIAL_STATE
  readonly faults = new Set<Fault>()
  readonly refused = new Counters()
  readonly discarded = new Counters()
  readonly warnings = new Counters()
  /** Moves that did not happen, or not yet. */
  readonly suppressed = new Counters()
  readonly history: TransitionHistory
  received = 0
  /** Of them, with priority 0. */
  receivedZero = 0
  /** Times that another host answered for an address of ours while we were Active. */
  rivalAnswers = 0
  readonly rivals = new RivalAnswers()
  readonly advertising = new AdvertisingRouters()
  /** Set by the daemon, which ends a turn differently when a state changed. */
  onTransition: (entered: Entered) => void = () => {}
  /** The checks that lift its priority are to run once more. */
  onAskChecks: (within: Millis) => void = () => {}
  readonly priority: EffectivePriority
  readonly keeper: AddressKeeper
  readonly places: AddressPlaces
  readonly advertiser: Advertiser
  readonly duplicates: DuplicateWatch
  readonly presence = new Presence()
  readonly gaps: AdvertisementGaps
  readonly takeover: TakeoverWatch
  /** Times that the guardian took its addresses off, because this engine was late. */
  willsExecuted = 0
  readonly #recorder: Recorder
  group: RouterGroup
  readonly #runner: EffectRunner
  readonly #duty: AddressDuty
  readonly #peerNews: PeerNews
  readonly #faultNews: FaultNews
  /** When it last asked before an advertisement. */
  #askedAt: Millis | undefined

  constructor(spec: RouterSpec, parameters: Parameters, context: RouterContext, now: Millis) {
    const { gapNews, group, recorder, runner, takeovers } = context
    this.spec = spec
    this.name = spec.name
    this.parameters = parameters
    this.priority = new EffectivePriority(this, parameters.priority, recorder)
    this.history = new TransitionHistory(recorder, now)
    this.keeper = new AddressKeeper(spec.name, recorder)
    this.places = new AddressPlaces(spec.forms)
    this.#duty = new AddressDuty(this, this.keeper)
    this.advertiser = new Advertiser(spec.name, recorder)
    this.duplicates = new DuplicateWatch(this, recorder)
    this.gaps = new AdvertisementGaps((active, gap, interval) => gapNews.note(spec.name, active, gap, interval))
    this.#peerNews = new PeerNews(recorder.chronicle)
    this.#faultNews = new FaultNews(recorder.chronicle)
    this.takeover = new TakeoverWatch(takeovers, (addresses) =>
      runner.tellLater(() => recorder.chronicle.record({ kind: 'announced', router: spec.name, addresses })),
    )
    this.group = group
    this.#recorder = recorder
    this.#runner = runner
    group.join(this)
  }

  /** A reload made other groups; the will of the new one is the caller's. */
  moveToGroup(group: RouterGroup): void {
    this.group.leave(this)
    this.group = group
    group.join(this)
  }

  /**
   * A reload: the same virtual router (VRID, interface, version, family) with other parameters, of which
   * `priority` is what base and trackers come to. Where it runs stays as it is.
   */
  reconfigure(spec: RouterSpec, parameters: Parameters, now: Millis): void {
    const previous = this.parameters
    const places = this.#placesOf(previous.addresses)
    this.spec = spec
    this.places.follow(spec.forms)
    this.parameters = {
      ...parameters,
      priority: this.priority.reconfigure(parameters.priority),
      primaryAddress: this.io === undefined ? parameters.primaryAddress : previous.primaryAddress,
    }
    // What was promised to the guardian names addresses and peers.
    if (this.holds) this.group.will.arm()
    this.io?.reschedule(this, now)
    this.post({ kind: 'parametersChanged', previous }, now)
    this.#reform(places)
    this.duplicates.follow(now)
  }

  /** Another preemptDelay from now on, and nothing else. */
  delayPreemption(preemptDelay: Millis, now: Millis): void {
    const previous = this.parameters
    this.parameters = { ...previous, preemptDelay }
    this.post({ kind: 'parametersChanged', previous }, now)
  }

  #placesOf(addresses: readonly Address[]): readonly WantedAddress[] {
    return this.io === undefined ? [] : this.places.all(addresses, this.io)
  }

  /** Addresses that it goes on holding, and that are to be elsewhere or otherwise in the kernel. */
  #reform(before: readonly WantedAddress[]): void {
    if (ownsAddresses(this.parameters)) return
    const [renamed, moved]: [Address[], Address[]] = [[], []]
    for (const after of this.#placesOf(this.held)) {
      const was = before.find(({ address }) => address === after.address)
      if (was === undefined) continue
      if (was.interfaceIndex !== after.interfaceIndex || was.prefixLength !== after.prefixLength)
        moved.push(after.address)
      else if (was.label !== after.label) renamed.push(after.address)
    }
    if (renamed.length + moved.length === 0) return
    this.#runner.add(this, [(at) => this.#duty.reform(renamed, at)])
    if (moved.length > 0 && this.state.name === 'Active')
      this.take(this.state, [{ kind: 'announce', reason: 'takeover' }])
  }

  /** A running group is to take it in: no longer missing there, and not started ahead of it (VR-SG-01). */
  awaitGroup(): void {
    if (this.state.name === 'Initialize') this.take({ ...this.state, stopped: false }, [])
  }

  /** Ground rule 6: a reload is a new chance. */
  clearInstallFault(now: Millis): void {
    this.#duty.forgive(now)
  }

  /** How log lines call it. */
  get title(): string {
    return this.group.name === undefined ? this.name : `${this.name} (${this.group.name})`
  }

  /** For its addresses, or did until its guardian took them off. */
  get answers(): boolean {
    return this.state.name === 'Active' || this.state.name === 'Leaving'
  }

  /** Others may believe that it is there, so that its end is news to them; who has lost is believed no more. */
  get speaks(): boolean {
    return this.holds && this.state.name !== 'Backup'
  }

  /** Its addresses go when the others' claims are heard. */
  get awaitsClaims(): boolean {
    const { name } = this.state
    return name === 'Leaving' || name === 'Returning' || isLingering(this.state)
  }

  /** The addresses that are on this node because of it: a crash would leave them behind. */
  get held(): readonly Address[] {
    if (this.state.name === 'Active') return this.parameters.addresses
    const kept = this.state.name === 'Leaving' || this.state.name === 'Backup' ? this.state.kept : undefined
    return kept?.map(({ address }) => address) ?? []
  }

  /** Some. Who leaves and lost them to its guardian waits for a successor without. */
  get holds(): boolean {
    return holdsIn(this.state)
  }

  /** It wants to know who else has its addresses (docs/adr/0007). */
  get asks(): boolean {
    return this.state.name === 'Active' && this.parameters.knobs.probeRivals
  }

  /** And this is one of those that may have been Active meanwhile. */
  asksBeside(peer: Address): boolean {
    return this.asks && this.parameters.peers.some(({ address }) => address === peer)
  }

  /** Otherwise it cannot say priority 0 when another member of its group fails. */
  get canSend(): boolean {
    return this.io?.canSend ?? false
  }

  nextDeadline(): Millis | undefined {
    const { history, presence, priority } = this
    const own = sooner(nextDeadline(this.state), this.#duty.nextAt)
    return sooner(sooner(own, priority.yieldingUntil), sooner(history.untoldUntil, presence.aliveAt))
  }

  /** Who decides that late, or after packets were dropped, may not have heard what there was to hear (ground rule 2). */
  mayHaveMissed(late: number): boolean {
    const { io, parameters, state } = this
    // That it slept is known there; what counts is whether the queue held everything (ground rule 3).
    if (state.name === 'Returning') return io?.receptionLost === true
    if (state.name !== 'Backup' && state.name !== 'Leaving') return false
    const interval = state.name === 'Backup' ? state.activeAdverInterval : parameters.advertisementInterval
    return io?.receptionLost === true || late > activeDownInterval(parameters.priority, interval, parameters.version)
  }

  post(event: Event, now: Millis): void {
    const before = this.state
    this.group.post(this, event, now)
    if (event.kind === 'advertisementReceived') this.#peerNews.note(before, this, event, now)
  }

  /** The outcome of a step; the effects wait for the end of the turn, and mean what they meant now. */
  take(next: State, effects: readonly Effect[]): void {
    const inFault = this.state.name === 'Initialize' && this.state.faults.length > 0
    const followed = this.state.name === 'Backup' ? this.state.active : undefined
    this.gaps.follow(this.state, next)
    const lingered = isLingering(this.state)
    this.state = next
    const { io, parameters } = this
    // Before the last advertisement, which the winner answers with its claims; and no transition tells that it is over.
    if (isLingering(next) !== lingered) io?.watchClaims()
    const place = { io, parameters, followed }
    const orders: Order[] = []
    for (const effect of effects) {
      if (effect.kind === 'refused') {
        // Counted at once: an order of its own would keep the others of this router from their round.
        this.refused.add(effect.reason)
        if (effect.reason === 'initialize') this.#tellIgnored(effect.source, next)
        continue
      }
      if (effect.kind === 'moveSuppressed') {
        this.#tellSuppressed(effect)
        continue
      }
      // Before the advertisement: a rival that yields to it answers no more (docs/adr/0007).
      const asks =
        io !== undefined &&
        effect.kind === 'sendAdvertisement' &&
        UNANNOUNCED.has(effect.reason) &&
        parameters.knobs.probeRivals
      if (asks) orders.push((now) => this.#ask(io, io.questionsOf(this, now), now))
      orders.push((now) => this.#act(effect, place, now))
      if (asks) orders.push((now) => this.#ask(io, io.followUpsOf(this, now), now))
    }
    this.#runner.add(this, orders)
    // VR-UC-08: a peer whose neighbour entry has failed meanwhile would not be heard, and a silent Active be replaced.
    if (!inFault || next.name === 'Initialize' || parameters.transport.mode !== 'unicast') return
    this.#runner.add(this, [(now) => void io?.announceSource(now)])
  }

  /** Row I3 of RFC 9568 §6.4.1. Normal during a start or a fault, so it is for `log.level: debug`. */
  #tellIgnored(source: Address, state: State): void {
    const faults = state.name === 'Initialize' ? state.faults : []
    const why = faults.length === 0 ? 'it has not started' : `in fault (${faults.join(', ')})`
    const message = `${this.name}: ignored an advertisement of ${source}: the router is in Initialize, ${why}`
    const fields = { router: this.name, peer: source, faults }
    this.#recorder.logLimited(`${this.name} ignored ${source}`, 'debug', message, fields)
  }

  #ask(asker: RouterIo, items: readonly Uint8Array[], now: Millis): Act {
    this.#askedAt = now
    return { kind: 'ask', asker, items }
  }

  #tellSuppressed({ at, reason, source }: Extract<Effect, { kind: 'moveSuppressed' }>): void {
    this.suppressed.add(reason)
    this.#recorder.logLimited(
      `${this.name} suppressed ${reason}`,
      'info',
      `${this.title}: ${suppressionWords(reason, source, this, at)}`,
      { router: this.name, peer: source, reason },
    )
  }

  /** Faults are kept beside the state, because only Initialize lists them. */
  setFault(fault: Fault, present: boolean, canSend: boolean, now: Millis): void {
    if (this.faults.has(fault) === present) return
    if (present) this.faults.add(fault)
    else this.faults.delete(fault)
    this.#faultNews.note(this, fault, present, now)
    const before = this.state.name
    this.post(present ? { kind: 'faultRaised', fault, canSend } : { kind: 'faultCleared', fault }, now)
    // Otherwise the transition has told it, which knows no operator's words.
    if (this.state.name !== before && fault !== 'configured') return
    const rest = this.faults.size === 0 ? '' : `, in fault: ${[...this.faults].join(', ')}`
    const why = fault === 'configured' && present ? ` (${this.spec.configuredFault})` : ''
    const message = `${this.title}: ${present ? 'fault' : 'fault cleared'}: ${fault}${why}${rest}`
    // To wait for a first result is nothing to worry about.
    const level = present && !fault.startsWith('healthcheckUndecided:') ? 'warn' : 'info'
    // A check that flaps is told of as a check.
    if (!fault.startsWith('healthcheck')) this.#recorder.log(level, message, { router: this.name, fault })
    else this.#recorder.logLimited(`${this.name} ${fault} ${present}`, level, message, { router: this.name, fault })
  }

  /** The interface, its index or the source changed: what was promised to the guardian must follow. */
  moveTo(io: RouterIo, parameters: Parameters): void {
    this.io = io
    this.parameters = parameters
    if (this.holds) this.group.will.arm()
  }

  /** After moveTo() to another interface or source address: its announcements began anew. */
  takeAddressesAlong(): void {
    // Until the successor is heard; its end takes them off where the router is then, and nowhere else.
    if (this.state.name === 'Leaving' || isLingering(this.state)) {
      this.take(this.state, [{ kind: 'installAddresses' }])
    }
    if (this.state.name !== 'Active') return
    this.take(this.state, [{ kind: 'installAddresses' }, { kind: 'announce', reason: 'takeover' }])
  }

  /** Deadlines of the adapter side that have passed: the repair of addresses and the end of a backoff. */
  runDueWork(now: Millis): void {
    const repair = this.#duty.takeRepair(now)
    if (repair !== undefined) this.#runner.add(this, [() => repair()])
    this.#duty.endFaults(now)
    this.priority.endYield(now)
    this.priority.catchUp(now)
    this.history.catchUp(this, now)
    const { aliveAt } = this.presence
    if (aliveAt !== undefined && now >= aliveAt) this.group.will.stayAlive(this, now)
  }

  /** Somebody else says that he has this address. */
  hearClaim({ address, mac, isAnswer }: HeardClaim, heardAt: Millis, now: Millis): void {
    if (!this.parameters.addresses.includes(address) || this.duplicates.allows(mac)) return
    if (this.awaitsClaims) this.post({ kind: 'claimHeard', address, heardAt }, now)
    if (this.state.name !== 'Active' || !isAnswer) return
    this.rivalAnswers++
    if (this.#wasAsked({ address, mac }, heardAt)) {
      const { family, vrid } = this.parameters
      this.post({ kind: 'rivalAnswered', address, heardAt, virtualMac: mac === virtualRouterMac(vrid, family) }, now)
    }
    const since = heardAt - this.history.since.at
    const isHandover = since < HANDOVER
    if (!isHandover) this.rivals.note(address, mac, heardAt)
    this.#recorder.logLimited(
      `${this.name} rival ${mac}${isHandover ? ' handover' : ''}`,
      isHandover ? 'info' : 'warn',
      isHandover
        ? `${this.name}: ${mac} still answers for ${address}, ${Math.round(since)} ms after the takeover`
        : `${this.name}: ${mac} answers for ${address} as well`,
      {
        router: this.name,
        address,
        mac,
      },
    )
  }

  /**
   * Whether it answers the question before an advertisement (docs/adr/0007). What only the radar has asked is judged
   * there, and so is a certain duplicate owner when both have: it answers for as long as it lives, and the radar knows how
   * often to announce over that. Where nothing is to be done about answers (`alarm`) there is nothing to announce over.
   */
  #wasAsked({ address, mac }: DuplicateOwner, heardAt: Millis): boolean {
    if (this.spec.onDuplicate === 'alarm') return false
    if (!this.duplicates.hasJustAsked(heardAt)) return true
    if (this.duplicates.owners.some((owner) => owner.address === address && owner.mac === mac)) return false
    const { addresses } = this.parameters
    return address === addresses[0] && this.#askedAt !== undefined && heardAt - this.#askedAt <= ANSWERED_WITHIN
  }

  /** The kernel did not, and now it does: what waited there for the peer has left. */
  reachPeer(peer: Address, now: Millis): void {
    if (!this.asksBeside(peer)) return
    this.post({ kind: 'peerReached', peer }, now)
    this.#recorder.logLimited(
      `${this.name} reached ${peer}`,
      'info',
      `${this.name}: reaches ${peer}, which may have been Active meanwhile`,
      { router: this.name, peer },
    )
  }

  /** Somebody else changed an address of ours: back to the target state (docs/architecture.md). */
  restoreAddresses(now: Millis): void {
    this.#duty.restore(now)
  }

  #act(effect: Effect, { io, parameters, followed }: Place, now: Millis): Act | undefined {
    switch (effect.kind) {
      case 'sendAdvertisement': {
        if (io === undefined) return undefined
        const { priority } = effect
        // A release promises nothing, and the last one neither: whoever has lost will not speak again.
        const promises = priority !== 0 && effect.reason !== 'lost'
        // Held up since its turn began: whoever has taken over meanwhile would yield to an Active without addresses.
        if (promises && this.group.noticeExecution(now)) return undefined
        if (TAKES_OVER.has(effect.reason)) this.takeover.begin(parameters.addresses, ownsAddresses(parameters), now)
        const datagrams = this.advertiser.datagrams(parameters, priority)
        const done: Extract<Act, { kind: 'send' }>['done'] = (outcomes) => {
          this.advertiser.sentAs(priority, datagrams, outcomes)
          if (!promises || !wasSent(outcomes, io.canSend)) return
          this.group.will.heardOf(this, priority, now)
          this.takeover.advertised()
        }
        return { kind: 'send', sender: io, items: datagrams, done }
      }
      case 'probeAddresses':
        return io === undefined ? undefined : { kind: 'ask', asker: io, items: io.probesOf(this) }
      case 'installAddresses':
        return this.#duty.install({ io, parameters }, now)
      case 'removeAddresses':
        // Before the first one goes: what is renewed after that comes back.
        this.group.will.letGo(now)
        return this.#duty.remove({ io, parameters }, effect.addresses)
      case 'announce':
        io?.announce(this, effect.reason, effect.after === undefined ? now : plus(now, effect.after))
        return undefined
      case 'transition':
        if (effect.from === 'Active') {
          io?.cancelAnnouncements(this)
          this.duplicates.end()
          this.takeover.end()
        }
        if (effect.to === 'Active') this.duplicates.begin(now)
        this.onTransition({ to: effect.to, priority: parameters.priority })
        this.#runner.tellLater(() => {
          this.history.tell({ transition: effect, interfaceName: io?.interfaceName, followed, at: now }, this, now)
        })
        return undefined
      case 'askChecks':
        this.onAskChecks(effect.within)
        return undefined
      case 'refused':
      case 'moveSuppressed':
        return undefined
    }
  }
}
