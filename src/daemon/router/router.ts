/**
 * A virtual router at run time, with its state, parameters and place. This file decides what a new state, place or
 * configuration means for addresses, cleanup plan and announcements. The transitions are in vrrp/, the members that an
 * event moves in router-group.ts. The effects are in router-effects.ts, and their time is in effect-runner.ts. Longer
 * than other files because no other file writes a field of a router.
 */
import type { Held } from '../../config/holding.ts'
import type { Event, Fault } from '../../vrrp/event.ts'
import { isInGracePeriod } from '../../vrrp/extensions/grace-period.ts'
import type { GroupStep } from '../../vrrp/extensions/sync-group/sync-group.ts'
import type { Parameters } from '../../vrrp/parameters.ts'
import {
  type HeardActive,
  INITIAL_STATE,
  nextDeadline,
  plainActive,
  repeatedUntil,
  type State,
} from '../../vrrp/state.ts'
import { activeDownInterval } from '../../vrrp/timers.ts'
import type { Address } from '../../wire/address.ts'
import { centisToMillis, type Millis, plus, sooner } from '../../wire/units.ts'
import { AddressDuty } from '../addresses/address-duty.ts'
import { AddressKeeper } from '../addresses/address-keeper.ts'
import { AddressPlaces } from '../addresses/address-places.ts'
import type { EffectRunner, Order } from '../effect-runner.ts'
import { AbsenceDeadline } from '../guard/absence-deadline.ts'
import { type ClockNews, type MadeOrder, RouterClock } from '../guard/router-clock.ts'
import { EffectivePriority } from '../health/effective-priority.ts'
import type { Tracking } from '../health/tracking.ts'
import { Advertiser } from '../lan/advertiser.ts'
import { AdvertisingRouters } from '../lan/advertising.ts'
import { CompetingAnswers } from '../lan/duplicates/competing-answers.ts'
import { DuplicateDetection } from '../lan/duplicates/duplicate-detection.ts'
import { RouterWatch, type WatchNews } from '../lan/router-watch.ts'
import type { GuardianPort } from '../ports.ts'
import { ActivesNews } from '../telemetry/actives-news.ts'
import { AdvertisementGaps, type GapNews } from '../telemetry/advertisement-gaps.ts'
import { PeerNews } from '../telemetry/peer-news.ts'
import { PriorityNews } from '../telemetry/priority-news.ts'
import type { Recorder } from '../telemetry/recorder.ts'
import { RouterCounters } from '../telemetry/router-counters.ts'
import { type TakeoverTimes, TakeoverWatch } from '../telemetry/takeover-watch.ts'
import { type Entered, TransitionHistory } from '../telemetry/transition-history.ts'
import { awaitsAnnouncementsIn, heldIn, holdsIn } from './held-state.ts'
import type { Membership } from './membership.ts'
import { postEvent } from './post-event.ts'
import { type Executors, executorsFor, ordersOf } from './router-effects.ts'
import { RouterFaults } from './router-faults.ts'
import type { RouterIo } from './router-io.ts'
import type { RouterSpec } from './router-spec.ts'

export type RouterContext = {
  readonly group: Membership<Router>
  readonly runner: EffectRunner
  readonly guardian: GuardianPort
  /** Number of the router's slot in the memory shared with the guardian's clock. */
  readonly slot: number
  /** True if this engine may continue as the Active that the previous engine was (adoption, docs/adr/0088). */
  readonly awaitsAdoption: boolean
  readonly recorder: Recorder
  readonly takeovers: TakeoverTimes
  readonly gapNews: GapNews
  /** Called after the network effects of a transition of the router were executed. */
  readonly onTransition: (router: Router, entered: Entered) => void
  /** Called when the health checks that raise the router's priority have to run once more. */
  readonly onAskChecks: (router: Router, within: Millis) => void
}

export class Router {
  readonly name: string
  readonly counters = new RouterCounters()
  readonly absence = new AbsenceDeadline()
  readonly clock: RouterClock
  readonly watch = new RouterWatch()
  readonly advertising = new AdvertisingRouters()
  readonly history: TransitionHistory
  readonly priority: EffectivePriority
  readonly keeper: AddressKeeper
  readonly places: AddressPlaces
  readonly duty: AddressDuty
  readonly advertiser: Advertiser
  readonly duplicates: DuplicateDetection
  readonly competing: CompetingAnswers
  readonly gaps: AdvertisementGaps
  readonly peerNews: PeerNews
  readonly activesNews: ActivesNews
  readonly takeover: TakeoverWatch
  #spec: RouterSpec
  #parameters: Parameters
  #state: State = INITIAL_STATE
  #io: RouterIo | undefined
  #following: Held | undefined
  #group: Membership<Router>
  #awaitsAdoption: boolean
  readonly #faults: RouterFaults
  readonly #executors: Executors
  readonly #runner: EffectRunner
  readonly #priorityNews: PriorityNews

  constructor(spec: RouterSpec, parameters: Parameters, context: RouterContext, now: Millis) {
    const { gapNews, group, guardian, recorder, runner, slot, takeovers } = context
    this.#spec = spec
    this.name = spec.name
    this.#parameters = parameters
    this.#group = group
    this.#awaitsAdoption = context.awaitsAdoption
    this.#runner = runner
    const post = (event: Event, at: Millis) => postEvent(this, event, at)
    this.#faults = new RouterFaults(this, recorder)
    this.clock = new RouterClock(slot, guardian)
    this.priority = new EffectivePriority(parameters.priority)
    this.history = new TransitionHistory(recorder, now)
    this.keeper = new AddressKeeper(spec.name, recorder)
    this.places = new AddressPlaces(spec.forms)
    this.duty = new AddressDuty(this, this.keeper)
    this.advertiser = new Advertiser(spec.name, recorder)
    this.duplicates = new DuplicateDetection(this, recorder)
    this.competing = new CompetingAnswers(this, post, recorder)
    this.gaps = new AdvertisementGaps((active, gap, interval) => gapNews.note(spec.name, active, gap, interval))
    this.peerNews = new PeerNews(recorder.chronicle)
    this.activesNews = new ActivesNews(recorder)
    this.#priorityNews = new PriorityNews(recorder)
    this.takeover = new TakeoverWatch(takeovers, (addresses) =>
      runner.tellLater(() => recorder.chronicle.record({ kind: 'announced', router: spec.name, addresses })),
    )
    this.#executors = executorsFor(this, {
      runner,
      recorder,
      onTransition: (entered) => context.onTransition(this, entered),
      onAskChecks: (within) => context.onAskChecks(this, within),
    })
    group.join(this)
  }

  // Properties ---------------------------------------------------------------------------------------------------------

  get spec(): RouterSpec {
    return this.#spec
  }

  get parameters(): Parameters {
    return this.#parameters
  }

  get state(): State {
    return this.#state
  }

  /** Interface on which the router runs; `undefined` if the router has no interface. */
  get io(): RouterIo | undefined {
    return this.#io
  }

  /**
   * Address whose interface the router follows (`interface: { holding: … }`), and the reason; `undefined` if the router
   * does not use `holding`.
   */
  get following(): Held | undefined {
    return this.#following
  }

  get group(): Membership<Router> {
    return this.#group
  }

  get faults(): ReadonlySet<Fault> {
    return this.#faults.all
  }

  /** Name in log lines. */
  get title(): string {
    return this.#group.name === undefined ? this.name : `${this.name} (${this.#group.name})`
  }

  /** True if the router answers for its addresses, or answered until the guardian removed them. */
  get answers(): boolean {
    return this.#state.name === 'Active' || this.#state.name === 'Leaving'
  }

  /**
   * True if the router must advertise priority 0 when it ends, because peers may still follow it as the Active. Peers
   * do not follow a router that has become Backup.
   */
  get needsRelease(): boolean {
    return this.holds && this.#state.name !== 'Backup'
  }

  /**
   * True from the start of a router that may be adopted until it is, or is not. The addresses of such a router are
   * already on this node.
   */
  get awaitsAdoption(): boolean {
    return this.#awaitsAdoption
  }

  /** True if the router needs the announcements of other hosts. */
  get awaitsAnnouncements(): boolean {
    return awaitsAnnouncementsIn(this.#state)
  }

  /** True if the router has addresses in the kernel, which a crash would leave behind. */
  get holds(): boolean {
    return holdsIn(this.#state)
  }

  get held(): readonly Address[] {
    return heldIn(this.#state, this.#parameters)
  }

  /** True if the router asks which other host has its addresses (docs/adr/0007). */
  get asks(): boolean {
    return this.#state.name === 'Active' && this.#parameters.extensions.silentActive === true
  }

  /** Tells whether the router asks its peers for their addresses, and `peer` may have been Active in the meantime. */
  asksBeside(peer: Address): boolean {
    return this.asks && this.#parameters.peers.some(({ address }) => address === peer)
  }

  /** Deadline of the state; `undefined` if there is none, or while the clock advertises. */
  get stateDeadline(): Millis | undefined {
    return this.clock.isArmed ? undefined : nextDeadline(this.#state)
  }

  nextDeadline(): Millis | undefined {
    const { absence, history, priority } = this
    // The watch has a timer of its own.
    const deadline = this.watch.isArmed ? undefined : this.stateDeadline
    const own = sooner(sooner(deadline, this.duty.nextAt), this.clock.lookAt)
    return sooner(sooner(own, priority.yieldingUntil), sooner(history.catchUpAt, absence.aliveAt))
  }

  /**
   * Tells whether a decision may lack received packets, because the engine is `late` milliseconds late or because the
   * kernel dropped packets (ground rule 2: a waiting packet counts).
   */
  mayHaveMissed(late: number): boolean {
    const io = this.#io
    const parameters = this.#parameters
    const state = this.#state
    // In Returning the engine knows that it slept. Only one thing matters: whether the queue held every packet (ground
    // rule 3: a node that was away listens first).
    if (state.name === 'Returning') return io?.receptionLost === true
    if (state.name !== 'Backup' && state.name !== 'Leaving') return false
    const interval = state.name === 'Backup' ? state.activeAdverInterval : parameters.advertisementInterval
    return io?.receptionLost === true || late > activeDownInterval(parameters.priority, interval, parameters.version)
  }

  // Steps --------------------------------------------------------------------------------------------------------------

  /**
   * Adopts the state that a step of the state machine returned. The effects wait for the end of the turn, with the
   * present parameters.
   */
  apply({ effects, state }: GroupStep, now: Millis): void {
    const before = this.#state
    if (state === before && effects.length === 0) return
    this.gaps.follow(before, state)
    this.#state = state
    // The sockets change what they receive before the last advertisement is sent, because the winner answers that
    // advertisement with announcements. No transition reports the end of a grace period.
    if (isInGracePeriod(state) !== isInGracePeriod(before)) this.#io?.watchAnnouncements()
    this.#order(effects, before.name === 'Backup' ? before.active : undefined)
    const wasInFault = before.name === 'Initialize' && before.faults.length > 0
    if (wasInFault && state.name !== 'Initialize') this.#announceSource()
    this.#group.cleanup.follow(this, before, { effects, state }, now)
  }

  #order(effects: GroupStep['effects'], followed: HeardActive | undefined): void {
    const place = { io: this.#io, parameters: this.#parameters, followed }
    const orders: Order[] = []
    for (const effect of effects) orders.push(...ordersOf(this.#executors, effect.kind, effect, place))
    this.#runner.add(this, orders)
  }

  /**
   * Announces the source address of a unicast router (VR-UC-08). A peer whose neighbor entry for this node has failed
   * cannot send to this node. If this node did nothing, it would take an Active peer for silent, and replace it.
   */
  #announceSource(): void {
    const io = this.#io
    if (this.#parameters.transport.mode === 'unicast')
      this.#runner.add(this, [(at) => void io?.announcements.announceSource(at)])
  }

  /** Starts the router as any other one, because it cannot be adopted. */
  endAdoption(): void {
    this.#awaitsAdoption = false
  }

  /**
   * Returns the step with which the router continues as the Active that it was in the engine before (docs/adr/0088). The
   * guardian's clock has advertised for it all the time.
   */
  adopt(since: Millis, now: Millis, reason: 'engineRestarted' | 'engineUpgraded'): GroupStep {
    const { advertisementInterval: interval } = this.#parameters
    const sentAt = this.clock.adopt(interval, now)
    this.#awaitsAdoption = false
    this.advertiser.adopt(this.#parameters)
    this.history.adopt(since, now, reason)
    this.duplicates.begin(now)
    const state = plainActive(since, plus(sentAt, centisToMillis(interval)))
    return { state, effects: ADOPTED }
  }

  // The clock ----------------------------------------------------------------------------------------------------------

  /**
   * Leaves the router's advertisements to the guardian's clock. Returns false if the clock is busy, or if there is
   * none.
   */
  startClock(made: MadeOrder): boolean {
    if (!this.clock.arm(made)) return false
    if (made.detection !== undefined) this.duplicates.repeat(made.detection.period)
    return true
  }

  /** Takes the router's advertisements back from the guardian's clock. Does nothing if the clock does not run. */
  endClock(): void {
    if (!this.clock.isArmed) return
    this.#takeRounds(this.clock.withdraw())
    this.#io?.questions.takeBack(this.#parameters.vrid)
    this.duplicates.takeBack(this.clock.detectedAt)
  }

  /** Adds what the guardian's clock has sent until now to counters and deadlines. */
  readClock(): void {
    this.#takeRounds(this.clock.read())
  }

  #takeRounds(news: ClockNews | undefined): void {
    if (news === undefined) return
    const { interval, rounds, sentAt } = news
    if (this.#state.name === 'Active') this.#state = repeatedUntil(this.#state, sentAt, interval)
    this.absence.repeated(interval, sentAt)
    this.advertiser.repeated(rounds)
    if (this.asks) this.competing.asked(sentAt)
  }

  // The watch ----------------------------------------------------------------------------------------------------------

  /** Ends the watch, so that each packet is delivered. Does nothing without a watch. */
  endWatch(): void {
    if (this.watch.isArmed) this.#takeRepetitions(this.watch.end(this.#state))
  }

  /** Adds what the watch has noted until now to the state and the counters. */
  readWatch(): void {
    if (this.watch.isArmed) this.#takeRepetitions(this.watch.read(this.#state))
  }

  #takeRepetitions(news: WatchNews | undefined): void {
    if (news === undefined) return
    const { advertisement, bounds, cells, count, heardAt, interval, source: address, state, sum } = news
    const { priority, version } = advertisement
    this.#state = state
    this.counters.countRepetitions(count)
    this.gaps.addRepetitions(bounds, cells, sum, interval)
    this.advertising.noteRepetitions(address, heardAt)
    this.duplicates.hearAdvertisement(address, priority, heardAt, heardAt)
    this.history.mismatched.note({ address, reasons: [], version, listenedTo: true, heardAt })
  }

  /**
   * Sends the last advertisement again after the clock has ended a round that was late (docs/adr/0085). The late round
   * may have contradicted the last advertisement.
   */
  #sayAgain(): void {
    const isActive = this.#state.name === 'Active'
    const priority = isActive ? this.#parameters.priority : 0
    this.#order([{ kind: 'sendAdvertisement', priority, reason: isActive ? 'periodic' : 'shutdown' }], undefined)
  }

  // Configuration ------------------------------------------------------------------------------------------------------

  /** Moves the router to another group after a reload. The caller arms the plan of that group. */
  moveToGroup(group: Membership<Router>): void {
    this.#group.withdrawClocks()
    this.#group.leave(this)
    this.#group = group
    group.join(this)
  }

  /**
   * Adopts the parameters of a reload for the same virtual router (VRID, interface, version, family).
   * `parameters.priority` already contains the effect of the trackers. The router stays on its interface.
   */
  reconfigure(spec: RouterSpec, parameters: Parameters, now: Millis): void {
    const previous = this.#parameters
    const places = this.duty.placesOf(previous.addresses)
    this.#group.withdrawClocks()
    this.#spec = spec
    this.places.follow(spec.forms)
    this.#parameters = {
      ...parameters,
      priority: this.#rebase(parameters.priority),
      primaryAddress: this.#io === undefined ? parameters.primaryAddress : previous.primaryAddress,
    }
    // The guardian's plan contains addresses and peers.
    if (this.holds) this.#group.cleanup.arm()
    this.#io?.announcements.reschedule(this, now)
    postEvent(this, { kind: 'parametersChanged', previous }, now)
    const { isMoved, reform } = this.duty.reformFrom(places)
    if (reform !== undefined) this.#runner.add(this, [reform])
    if (isMoved && this.#state.name === 'Active') this.#order([TAKEOVER], undefined)
    this.duplicates.follow(now)
  }

  /**
   * Delays the preemption of a healthy Active by this router (docs/adr/0057). The caller must do this before the router
   * starts.
   */
  startWithDelay(preemptDelay: Millis): void {
    this.#parameters = { ...this.#parameters, preemptDelay }
  }

  /** Changes preemptDelay and nothing else. */
  delayPreemption(preemptDelay: Millis, now: Millis): void {
    const previous = this.#parameters
    this.#parameters = { ...previous, preemptDelay }
    postEvent(this, { kind: 'parametersChanged', previous }, now)
  }

  /**
   * Marks the router as started, because it joins a running sync group. The group then starts the router (VR-SG-01).
   */
  awaitGroup(): void {
    if (this.#state.name === 'Initialize') this.#state = { ...this.#state, stopped: false }
  }

  // Place --------------------------------------------------------------------------------------------------------------

  /** Sets the address whose interface the router follows. */
  follow(held: Held | undefined): void {
    this.#following = held
  }

  /** Moves the router to another interface, index or source address. The guardian's plan follows. */
  moveTo(io: RouterIo, parameters: Parameters): void {
    this.#group.withdrawClocks()
    this.#io = io
    this.#parameters = parameters
    if (this.holds) this.#group.cleanup.arm()
  }

  /** Removes the router from its interface, so that it neither sends nor receives. */
  leaveInterface(): void {
    this.#group.withdrawClocks()
    this.#io = undefined
  }

  /** Installs and announces the addresses again, after moveTo() to another interface or source address. */
  takeAddressesAlong(): void {
    // A router in Leaving keeps its addresses until the successor is known. A router in Leaving removes the addresses
    // only on the interface that it had when it left.
    if (this.#state.name === 'Leaving' || isInGracePeriod(this.#state)) this.#order([INSTALL], undefined)
    if (this.#state.name === 'Active') this.#order([INSTALL, TAKEOVER], undefined)
  }

  announceAgain(now: Millis): void {
    this.#io?.announcements.announce(this, 'competingActive', now)
  }

  /** Announces these VIPs, because another host has the same addresses. */
  announceOver(addresses: readonly Address[], now: Millis): void {
    this.#io?.announcements.announceOver(this, addresses, now)
  }

  // Facts --------------------------------------------------------------------------------------------------------------

  /** Raises or clears a fault. `canSend` is true if packets of the router may still arrive. */
  setFault(fault: Fault, present: boolean, canSend: boolean, now: Millis): void {
    const event = this.#faults.set(fault, present, canSend, now)
    if (event === undefined) return
    const before = this.#state.name
    postEvent(this, event, now)
    this.#faults.log(fault, present, before)
  }

  /**
   * Does all due work other than the deadline of the state: repairs, ends of faults and of a yield, delayed log lines.
   */
  runDueWork(now: Millis): void {
    const repair = this.duty.takeRepair(now)
    if (repair !== undefined) this.#runner.add(this, [() => repair()])
    this.duty.endFaults(now)
    const yieldEnded = this.endYield(now)
    if (yieldEnded !== undefined) postEvent(this, yieldEnded, now)
    this.#priorityNews.catchUp(this, now)
    this.history.catchUp(this, now)
    this.activesNews.look(this, now)
    if (this.clock.takeFreed(now)) this.#sayAgain()
    if (this.clock.isUnconfirmed(now)) this.#group.withdrawClocks()
    else if (this.clock.isArmed) this.readClock()
    const { aliveAt } = this.absence
    if (aliveAt !== undefined && now >= aliveAt) this.#group.cleanup.stayAlive(this, now)
  }

  // Priority -----------------------------------------------------------------------------------------------------------

  /**
   * Adopts a priority that was computed from base priority and trackers, unless the router yields. Returns the event to
   * post if the effective priority changed, otherwise `undefined`.
   */
  adoptTracking(tracking: Tracking, now: Millis): Event | undefined {
    this.priority.track(tracking)
    return this.priority.yieldingUntil === undefined ? this.#adoptPriority('tracking', now) : undefined
  }

  /**
   * Sets the effective priority to 1 until the time `until`. Posts no event, because the release has the same effect.
   */
  lowerPriority(until: Millis): void {
    this.priority.yieldUntil(until)
    const previous = this.#parameters.priority
    const { assured, priority } = this.priority.inForce
    this.#priorityNews.record(this, 'yield', previous, priority)
    this.#parameters = { ...this.#parameters, priority, assured }
  }

  /**
   * Ends a yield whose time is over. Returns the event to post if the effective priority changed, otherwise
   * `undefined`.
   */
  endYield(now: Millis): Event | undefined {
    return this.priority.endYield(now) ? this.#adoptPriority('yieldOver', now) : undefined
  }

  #adoptPriority(why: 'tracking' | 'yieldOver', now: Millis): Event | undefined {
    const { assured, priority } = this.priority.inForce
    const before = this.#parameters
    if (priority === before.priority && assured === before.assured) return undefined
    this.#parameters = { ...before, priority, assured }
    if (priority === before.priority) return undefined
    this.#priorityNews.changed(this, before.priority, why, now)
    return { kind: 'priorityChanged', previous: before.priority }
  }

  /** Adopts another base priority. Returns the effective priority. */
  #rebase(base: number): number {
    this.priority.rebase(base)
    const before = this.#parameters.priority
    if (this.priority.yieldingUntil !== undefined) return before
    if (base !== before) this.#priorityNews.record(this, 'reload', before, base)
    return base
  }
}

const INSTALL = { kind: 'installAddresses' } as const
const TAKEOVER = { kind: 'announce', reason: 'takeover' } as const
/** Effects of an adoption: an address that the kernel lost is installed again, and hosts read who answers now. */
const ADOPTED: GroupStep['effects'] = [INSTALL, { kind: 'announce', reason: 'competingActive' }]
