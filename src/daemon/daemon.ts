/**
 * The engine: owns the routers, the one alarm and the view of the network, and is the only place that turns the passing
 * of time and the kernel's news into events. A turn has one `now`; on expiry it drains before it decides (ground rule
 * 2). What to decide is vrrp/'s, where a router runs is placement.ts, how the kernel is spoken to is linux/'s.
 */
import { hostname } from 'node:os'
import type { Config } from '../config/config.ts'
import { type ConfigDiff, diffConfig } from '../config/diff.ts'
import { addressFilesIn } from '../config/holding.ts'
import type { NamedAddress } from '../config/named-address.ts'
import type { NodeView } from '../config/node-view.ts'
import { nowhere, type Problem, problemAt } from '../config/problem.ts'
import { type ResolvedRouter, resolveRouters } from '../config/resolve.ts'
import { unknownRouter } from '../config/text/spelling.ts'
import { Histogram } from '../metrics/histogram.ts'
import { METRICS } from '../metrics/names.ts'
import { nextDeadline } from '../vrrp/state.ts'
import { centisToMillis, type Millis, plus } from '../wire/units.ts'
import { AddressFiles } from './addresses/address-files.ts'
import { AddressWriter } from './addresses/address-writer.ts'
import { type AddressMemory, Journal, memoryOnDisk } from './addresses/ledger.ts'
import { Leftovers } from './addresses/leftovers.ts'
import { lifetimeOf } from './addresses/lifetime.ts'
import { NetworkEvents } from './addresses/network-events.ts'
import { NetworkView } from './addresses/network-view.ts'
import { OwnChanges } from './addresses/own-changes.ts'
import { StaleAddresses } from './addresses/stale-addresses.ts'
import { Alarm, onTheEventLoop, type Schedule, wakeUpBy } from './alarm.ts'
import { ColdStart } from './cold-start.ts'
import { EffectRunner } from './effect-runner.ts'
import { AbsenceWatch } from './guard/absence-watch.ts'
import { GuardianWatch } from './guard/guardian-watch.ts'
import { CheckBoard } from './health/check-board.ts'
import { HealthWatch } from './health/health-watch.ts'
import { healthcheckSnapshots, WallClock } from './health/healthcheck-snapshot.ts'
import { Trackers } from './health/trackers.ts'
import { segmentContext } from './lan/segment-news.ts'
import { endYield, yieldAddresses } from './operator-yield.ts'
import { Placement } from './placement.ts'
import type {
  AddressFilePort,
  CheckPort,
  Clock,
  LastWillPort,
  MakeWakeUp,
  NetworkEvent,
  NetworkPort,
  NotifyPort,
  SocketPort,
} from './ports.ts'
import { postEvent } from './post-event.ts'
import { Registry } from './registry.ts'
import { applyReload, type Bearer, bearerWords, planReload, type ReloadReport } from './reload.ts'
import type { Router } from './router.ts'
import { engineDistributions, routerDistributions } from './telemetry/distributions.ts'
import { LatenessNews } from './telemetry/lateness-news.ts'
import { Notices } from './telemetry/notices.ts'
import type { Recorder } from './telemetry/recorder.ts'
import { type EngineReport, type ReportPart, reportInPieces } from './telemetry/report.ts'
import {
  type ConfigSnapshot,
  groupSnapshots,
  interfaceSnapshot,
  NO_SURROUNDINGS,
  outpostSnapshots,
  type RouterSnapshot,
  routerSnapshot,
  type Snapshot,
  type Standing,
  type SurroundingsSnapshot,
  standingOf,
} from './telemetry/snapshot.ts'
import { type TakeoverTimes, takeoverTimes } from './telemetry/takeover-watch.ts'
import type { Entered } from './telemetry/transition-history.ts'

export type DaemonPorts = {
  readonly clock: Clock
  readonly network: NetworkPort
  readonly sockets: SocketPort
  readonly will: LastWillPort
  readonly recorder: Recorder
  /** Without one no check ever has a result. */
  readonly checks?: CheckPort
  /** Without one no program is told of anything. */
  readonly notify?: NotifyPort
  /** Without one no file ever says where a router runs. */
  readonly addressFiles?: AddressFilePort
  /** Where the configuration came from, and how its reloads went; the daemon only passes it on. */
  readonly configuration?: () => ConfigSnapshot
  /** What goes on around the engine, for the status alone. */
  readonly surroundings?: () => SurroundingsSnapshot
  /** The guardian is gone, or stopped: this daemon is leaving, and whoever started it should see a failure. */
  readonly onForsaken?: () => void
  /** With each beat to the guardian, every 1.5 s at the latest; never without one. */
  readonly onBeat?: () => void
  /** setTimeout by default. */
  readonly schedule?: Schedule
  /** From 0 to 1; Math.random by default. */
  readonly random?: () => number
  /** What the node keeps between two lives; files of the run directory by default. */
  readonly addressMemory?: AddressMemory
  /** Whether the process has just begun, and says when it has loaded what it needs: warm(). */
  readonly cold?: boolean
  /** Routers of the configuration, resolved by the tables that `network` answers first; start() resolves them by default. */
  readonly resolved?: readonly ResolvedRouter[] | undefined
  /** For the one alarm; `schedule` by default. */
  readonly wakeUp?: MakeWakeUp | undefined
}

/**
 * Not configurable: what a test takes away to show that it would be missed. `drainBeforeExpire: false` decides on the timer
 * alone, as a daemon without ground rule 2 would; `noticeAbsence: false` goes on after a stall as if nothing had been.
 */
export type DaemonOptions = { readonly drainBeforeExpire: boolean; readonly noticeAbsence?: boolean }

const LONGEST_YIELD = 31 * 24 * 3_600_000

export class Daemon {
  #config: Config
  readonly #ports: DaemonPorts
  readonly #options: DaemonOptions
  readonly #view = new NetworkView()
  readonly #alarm: Alarm
  readonly #placement: Placement
  readonly #files: AddressFiles
  readonly #startedAt = new Date()
  readonly #networkEvents: NetworkEvents
  readonly #stale: StaleAddresses
  readonly #runner: EffectRunner
  readonly #registry: Registry
  readonly #leftovers: Leftovers
  /** An alarm is being served: its announcements come after its decisions. */
  #serving = false
  /** Who waits for the end. */
  #stopped: (() => void)[] = []
  #stopping = false
  #stateChanged = false
  readonly #watch: GuardianWatch
  readonly #absence: AbsenceWatch
  readonly #board = new CheckBoard()
  readonly #coldStart = new ColdStart()
  readonly #checksSince = new WallClock()
  readonly #health: HealthWatch
  readonly #notices: Notices
  readonly #lateness = new Histogram(METRICS.holdfast_engine_timer_lateness_seconds.buckets)
  readonly #latenessNews: LatenessNews
  readonly #takeovers: TakeoverTimes

  constructor(config: Config, ports: DaemonPorts, options: DaemonOptions = { drainBeforeExpire: true }) {
    this.#config = config
    this.#ports = ports
    this.#options = options
    this.#alarm = new Alarm(
      ports.clock,
      (now, lateMs) => {
        this.#lateness.observe(lateMs / 1_000)
        this.#onAlarm(now)
        this.#latenessNews.note(lateMs, () => this.#shortestInterval(), now)
      },
      ports.wakeUp ?? wakeUpBy(ports.schedule ?? onTheEventLoop),
    )
    this.#latenessNews = new LatenessNews(ports.recorder.chronicle)
    this.#takeovers = takeoverTimes(ports.clock)
    const { checks, clock, network, notify: port, recorder, schedule = onTheEventLoop, sockets, will } = ports
    const { random = Math.random } = ports
    this.#notices = new Notices({ port, clock, recorder, schedule })
    this.#watch = new GuardianWatch({
      clock,
      will,
      schedule,
      onLook: () => {
        if (this.#absence.sleptUnnoticed) this.#endTurn(this.#beginTurn())
      },
      onBeat: ports.onBeat,
      shortestLifetime: () => this.#shortestLifetime(),
      onLost: (silence) => this.#forsaken(silence),
    })
    const view = this.#view
    const ownChanges = new OwnChanges()
    const writer = new AddressWriter(network, view, ownChanges)
    this.#runner = new EffectRunner(writer)
    const memory = ports.addressMemory ?? memoryOnDisk(config.runDirectory)
    const journal = new Journal(memory)
    const beginTurn = () => this.#beginTurn()
    const endTurn = (now: Millis) => {
      this.#endTurn(now)
      this.#watch.glance(now)
    }
    const isBusy = () => !this.#runner.idle
    const alarmBy = (at: Millis) => this.#alarm.sooner(at)
    const context = segmentContext({ sockets, view, recorder, random, writer, beginTurn, endTurn, isBusy, alarmBy })
    const board = this.#board
    const trackers = new Trackers(view, board)
    this.#files = new AddressFiles(ports.addressFiles, recorder)
    this.#placement = new Placement(config, context, journal, trackers, this.#files)
    const onTransition = (router: Router, entered: Entered) => {
      this.#stateChanged = true
      this.#notices.transition(router, entered, { departing: this.#registry.departing, stopping: this.#stopping })
    }
    const onAskChecks = (router: Router, within: Millis) => this.#health.ask(router, within)
    const takeovers = this.#takeovers
    this.#registry = new Registry({ recorder, will, runner: this.#runner, takeovers, onTransition, onAskChecks })
    const [placement, registry] = [this.#placement, this.#registry]
    this.#health = new HealthWatch({
      checks,
      board,
      trackers,
      registry,
      recorder,
      schedule,
      beginTurn,
      endTurn,
    })
    this.#absence = new AbsenceWatch({
      clock,
      will,
      groups: () => (options.noticeAbsence === false ? [] : this.#registry.groups),
    })
    this.#stale = new StaleAddresses({ view, registry: this.#registry, memory, journal, recorder, writer })
    this.#leftovers = new Leftovers({
      recorder,
      where: (address) => view.where(address),
      isTaken: (address) => this.#registry.answersFor(address),
      writer,
    })
    this.#networkEvents = new NetworkEvents({
      network,
      view,
      recorder,
      ownChanges,
      config: () => this.#config,
      placement,
      registry,
      stale: this.#stale,
    })
  }

  /** Sweeps, opens, starts. Returns with every router in Backup, Active, or in fault with a reason. */
  start(): void {
    const { clock, network } = this.#ports
    this.#view.load(network)
    this.#followFiles()
    const hasSwept = this.#stale.sweep(this.#config)
    const resolution = this.#firstResolution(hasSwept)
    const now = clock.now()
    this.#health.know(this.#config, now)
    this.#notices.know(this.#config)
    for (const resolved of resolution) this.#registry.add(resolved, now)
    this.#registry.regroup(this.#config.syncGroups, now)
    this.#placement.refresh(this.#registry.routers, now, resolution)
    if (this.#ports.cold === true) for (const router of this.#registry.all) this.#coldStart.hold(router)
    for (const router of this.#registry.all) postEvent(router, { kind: 'startup' }, now)
    network.watch((event) => this.#onNetworkEvent(event))
    this.#endTurn(clock.now())
    this.#health.start()
    this.#notices.prepare()
    // Whoever is found forsaken leaves: nobody may be started after that.
    this.#watch.start()
  }

  /**
   * Returns the resolution by which the configuration was judged. An address that the sweep has removed may have been chosen
   * as a source there, and an address file may say something else by now: then the routers are resolved again.
   */
  #firstResolution(hasSwept: boolean): readonly ResolvedRouter[] {
    const { resolved } = this.#ports
    const isCurrent = !hasSwept && this.#files.named.size === 0
    return resolved !== undefined && isCurrent ? resolved : this.#placement.resolve()
  }

  /** What a start loads and compiles is there: routers may preempt as they are configured to. */
  warm(): void {
    if (this.#stopping) return
    const now = this.#beginTurn()
    this.#coldStart.release(this.#registry.routers, now)
    this.#endTurn(now)
  }

  /** Through Leaving (docs/architecture.md, Protocol decisions); resolves when no router answers for anything any more and no program runs. */
  stop(): Promise<void> {
    const now = this.#beginTurn()
    const stopped = new Promise<void>((resolve) => this.#stopped.push(resolve))
    this.#stopping = true
    // The same for every member of a group, which leaves together.
    for (const group of this.#registry.groups) group.shutDown(now)
    this.#stateChanged = true
    // What they say changes nothing any more, and what they run must not outlive us.
    const checksStopped = this.#health.stop()
    this.#endTurn(now)
    const told = stopped.then(() => this.#notices.finish())
    return Promise.all([told, checksStopped]).then(() => undefined)
  }

  /**
   * Hands the addresses of the router, or of the sync group, to another node, always with its whole sync group. For so
   * long the effective priority is 1; 0 ends an earlier yield. Without a successor the router is Active again after Leaving.
   * Returns why not.
   */
  yield(name: string, forMillis: number): Problem | undefined {
    const refuse = (why: string) => problemAt(nowhere, [], 'error', why)
    const routers = [...this.#registry.routers.values()]
    const router = this.#registry.routers.get(name) ?? routers.find(({ group }) => group.name === name)
    if (router === undefined) {
      const groups = routers.flatMap(({ group }) => group.name ?? [])
      return refuse(unknownRouter(name, [...new Set([...this.#registry.routers.keys(), ...groups])]))
    }
    if (!(forMillis >= 0 && forMillis <= LONGEST_YIELD))
      return refuse(`Cannot yield for ${forMillis} ms: at most 31 days`)
    const now = this.#beginTurn()
    const { group, title } = router
    const reason =
      forMillis === 0
        ? endYield(group.members, group.name, now)
        : yieldAddresses(group.members, plus(now, forMillis), now, this.#ports.recorder.chronicle)
    if (reason !== undefined) return refuse(reason)
    const does = forMillis === 0 ? 'an operator ended its yield period' : `yields for ${forMillis} ms`
    this.#ports.recorder.log('info', `${title}: ${does}`, { router: router.name, forMillis })
    this.#stateChanged = true
    this.#endTurn(now)
    return undefined
  }

  /**
   * Another configuration, which was judged against nodeView(). A router that means the same is not touched; what a
   * difference costs is reload.ts's. Refused while the daemon leaves. `diff` is from `config` to the next one: finding
   * it takes longer than applying it, and can be done elsewhere. `bearer`: it was handed over.
   */
  reload(next: Config, diff: ConfigDiff = diffConfig(this.#config, next), bearer?: Bearer): ReloadReport {
    if (this.#stopping) return { ok: false, reason: 'the daemon is leaving' }
    const now = this.#beginTurn()
    const before = this.#config
    this.#config = next
    this.#followFiles()
    this.#placement.reconfigure(next)
    this.#health.know(next, now)
    this.#notices.know(next)
    const resolution = this.#placement.resolve()
    const elsewhere = this.#placement.elsewhere(this.#registry.routers, resolution)
    const plan = planReload(before, next, diff, { held: this.#registry.heldByDeparting(), elsewhere })
    const { changes, checksChanged } = plan.report
    if (bearer?.again !== true)
      this.#ports.recorder.chronicle.record({
        ...{ kind: 'reloaded', ok: true, changes: [...changes], checksChanged: [...checksChanged] },
        ...bearerWords(bearer),
      })
    this.#stale.sweepNew(before, next)
    const admit = (at: Millis) => this.#admit(at)
    const house = { registry: this.#registry, placement: this.#placement, resolution, admit }
    const dropped = applyReload(plan, next, house, now)
    this.#runner.run(now)
    this.#leftovers.take(dropped, now)
    this.#stateChanged = true
    this.#endTurn(now)
    this.#health.reload(diff.checksChanged)
    this.#notices.prepare()
    return plan.report
  }

  /** What reload() would report, with nothing changed. */
  plan(next: Config, diff: ConfigDiff): ReloadReport {
    if (this.#stopping) return { ok: false, reason: 'the daemon is leaving' }
    const { routers } = resolveRouters(next, this.nodeView())
    const elsewhere = this.#placement.elsewhere(this.#registry.routers, routers)
    return planReload(this.#config, next, diff, { held: this.#registry.heldByDeparting(), elsewhere }).report
  }

  /** In force. */
  get config(): Config {
    return this.#config
  }

  /** The node as a configuration for reload() is to be judged by. */
  nodeView(): NodeView {
    return this.#placement.nodeView()
  }

  /** After stop(): nothing of this daemon keeps the process alive. */
  close(): void {
    this.#alarm.set(undefined)
    this.#watch.stop()
    for (const segment of this.#placement.segments) segment.close()
    this.#ports.network.close()
    this.#ports.addressFiles?.close()
  }

  snapshot(): Snapshot {
    return this.#describe(this.#registry.all)
  }

  /** The same and what is measured, in pieces: the engine may go on in between. */
  report(): Generator<ReportPart, EngineReport> {
    return reportInPieces({
      routers: this.#registry.all,
      describe: (router) => this.#describeRouter(router, this.#ports.clock.now()),
      measured: routerDistributions,
      rest: () => ({
        snapshot: this.#describe([]),
        distributions: engineDistributions(this.#lateness, this.#takeovers),
      }),
    })
  }

  #describeRouter(router: Router, now: Millis): RouterSnapshot {
    return routerSnapshot(router, now, this.#registry.departing.has(router))
  }

  #describe(routers: readonly Router[]): Snapshot {
    const now = this.#ports.clock.now()
    return {
      version: 1,
      pid: process.pid,
      hostname: hostname(),
      startedAt: this.#startedAt.toISOString(),
      takenAt: new Date().toISOString(),
      guardian: this.#ports.will.armed ? (this.#ports.will.guarded ? 'guarded' : 'armed') : 'none',
      logRecordsLost: this.#ports.recorder.lost,
      config: this.#ports.configuration?.() ?? this.#givenConfig(),
      ...(this.#ports.surroundings?.() ?? NO_SURROUNDINGS),
      routers: routers.map((router) => this.#describeRouter(router, now)),
      groups: groupSnapshots(this.#registry.groups),
      interfaces: this.#placement.segments.flatMap((segment) => [
        interfaceSnapshot(segment),
        ...outpostSnapshots(segment),
      ]),
      healthchecks: healthcheckSnapshots(this.#board, [...this.#registry.routers.values()], now, this.#checksSince),
      notifications: this.#notices.snapshot(),
    }
  }

  /** Who holds what, without the rest of a snapshot. */
  standings(): readonly Standing[] {
    return this.#registry.all.map(standingOf)
  }

  #givenConfig(): ConfigSnapshot {
    const loadedAt = this.#startedAt.toISOString()
    return {
      file: null,
      hash: null,
      loadedAt,
      reloads: { ok: 0, failed: 0 },
      lastReload: null,
      imported: null,
      stoppedAt: null,
      managed: null,
    }
  }

  // Who comes and goes with a reload ------------------------------------------------------------------------------

  /** Whose place is free by now. */
  #admit(now: Millis): void {
    const { routers } = this.#registry
    if (this.#stopping || this.#config.virtualRouters.every(({ name }) => routers.has(name))) return
    const absent = this.#placement
      .resolve()
      .filter(({ name, parameters }) => {
        return !routers.has(name) && !parameters.addresses.some((vip) => this.#leftovers.has(vip))
      })
      .filter((resolved) => !this.#registry.isInTheWayOf(resolved))
    if (absent.length === 0) return
    const added = absent.map((resolved) => this.#registry.add(resolved, now))
    this.#placement.refresh(this.#registry.routers, now)
    for (const router of added) router.awaitGroup()
    this.#registry.regroup(this.#config.syncGroups, now, 'startup')
    // Those that are alone.
    for (const router of added) postEvent(router, { kind: 'startup' }, now)
    this.#stateChanged = true
  }

  #letGo(now: Millis): void {
    const departed = this.#registry.takeDeparted()
    if (departed.length === 0) return
    for (const router of departed) {
      this.#placement.release(router)
      this.#notices.removed(router)
    }
    this.#admit(now)
    this.#runner.run(now)
  }

  // What the kernel says -------------------------------------------------------------------------------------------

  #onNetworkEvent(event: NetworkEvent): void {
    if (this.#networkEvents.isOld(event)) return
    const now = this.#beginTurn()
    if (this.#networkEvents.take(event, now) && !this.#serving) this.#endTurn(now)
  }

  #followFiles(): void {
    this.#files.follow(addressFilesIn(this.#config), (file, reading) => this.#onAddressNamed(file, reading))
  }

  #onAddressNamed(file: string, reading: NamedAddress['reading']): void {
    if (!this.#files.take(file, reading)) return
    const now = this.#beginTurn()
    this.#placement.refresh(this.#registry.routers, now)
    this.#stateChanged = true
    this.#endTurn(now)
  }

  // Time and packets -----------------------------------------------------------------------------------------------

  #beginTurn(now = this.#ports.clock.now()): Millis {
    // Not everything that begins a turn ends one: a beat of the health checks that says what is known does not.
    if (this.#absence.notice(now)) this.#alarm.sooner(now)
    return now
  }

  /**
   * Nobody renews our addresses any more, or takes them off when we die: better another node than a VIP that outlives its
   * owner (docs/architecture.md). What the kernel drops meanwhile stays off.
   */
  #forsaken(silence: number | undefined): void {
    const why = silence === undefined ? 'is gone' : `has been silent for ${Math.round(silence)} ms`
    this.#ports.recorder.log('error', `The guardian ${why}: leaving, because nobody stands behind this engine`)
    this.#ports.recorder.chronicle.record({
      kind: 'guardianLost',
      ...(silence === undefined ? {} : { silentMs: Math.round(silence) }),
    })
    for (const group of this.#registry.groups) group.cleanup.guardianLost = true
    void this.stop()
    this.#ports.onForsaken?.()
  }

  #shortestLifetime(): number | undefined {
    const lifetimes = this.#registry.all.flatMap(({ parameters, spec }) => lifetimeOf(spec.lifetime, parameters) ?? [])
    return lifetimes.length === 0 ? undefined : Math.min(...lifetimes)
  }

  #shortestInterval(): number {
    return Math.min(...this.#registry.all.map(({ parameters }) => centisToMillis(parameters.advertisementInterval)))
  }

  #onAlarm(firedAt: Millis): void {
    const { clock, network } = this.#ports
    this.#beginTurn(firedAt)
    // Drain before expire: what waits in the queues may be the reason not to act. The link watch comes first, because
    // silence on a dead link proves nothing.
    this.#serving = true
    if (this.#options.drainBeforeExpire) {
      network.drain()
      for (const segment of this.#placement.segments) segment.drain(firedAt)
    }
    const now = clock.now()
    this.#health.runDue(now)
    for (const router of this.#registry.all) {
      const deadline = nextDeadline(router.state)
      if (deadline !== undefined && deadline <= now) {
        const receptionLost = this.#options.drainBeforeExpire && router.mayHaveMissed(now - deadline)
        postEvent(router, { kind: 'deadlineReached', receptionLost }, now)
      }
      router.runDueWork(now)
    }
    for (const segment of this.#placement.segments) segment.radar.advance(now)
    if (this.#leftovers.runDue(now)) this.#admit(now)
    const { openAgainAt } = this.#placement
    if (openAgainAt !== undefined && now >= openAgainAt) this.#placement.open(now)
    this.#serving = false
    this.#endTurn(now)
    this.#watch.glance(now)
  }

  /** No router answers for anything; after stop() that is the end. */
  #finish(now: Millis): void {
    if (this.#stopping) {
      this.#leftovers.runLast(now)
      this.#stale.forgetRemoved(this.#config, this.#leftovers)
      this.#notices.stop(this.#registry.all)
    }
    for (const resolve of this.#stopped.splice(0)) resolve()
  }

  #endTurn(now: Millis): void {
    this.#runner.run(now)
    if (this.#options.drainBeforeExpire) {
      for (const segment of this.#placement.segments) segment.hearBeforeAnswering(now)
      this.#runner.run(now)
    }
    if (this.#registry.departing.size > 0) this.#letGo(now)
    // Advertisements go before all announcements (docs/architecture.md, Protocol decisions).
    for (const segment of this.#placement.segments) segment.runAnnouncements(now)
    this.#runner.tell()
    for (const segment of this.#placement.segments) segment.askForRadar()
    if (this.#stateChanged) {
      this.#stateChanged = false
      for (const segment of this.#placement.segments) segment.watchClaims()
      if (this.#registry.all.every((router) => router.state.name === 'Initialize')) this.#finish(now)
    }
    // After the first announcements (VR-NTF-08).
    this.#notices.settle(this.#registry)
    let nearest: Millis | undefined
    const consider = (at: Millis | undefined) => {
      if (at !== undefined && (nearest === undefined || at < nearest)) nearest = at
    }
    consider(this.#placement.openAgainAt)
    consider(this.#leftovers.nextAt)
    consider(this.#health.nextAt)
    for (const router of this.#registry.all) consider(router.nextDeadline())
    for (const segment of this.#placement.segments) {
      consider(segment.nextAnnouncementAt())
      consider(segment.radar.nextAt())
    }
    this.#absence.alarmAt = nearest
    this.#alarm.set(nearest)
  }
}
