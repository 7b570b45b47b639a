/**
 * Creates the parts of the engine and connects them: the composition root of src/daemon. No decision is made here. The
 * parts are used by daemon.ts.
 */
import type { Config } from '../config/config.ts'
import type { ResolvedRouter } from '../config/resolve.ts'
import type { Millis } from '../wire/units.ts'
import { AddressFiles } from './addresses/address-files.ts'
import { AddressWriter } from './addresses/address-writer.ts'
import { AddressLedger, type AddressMemory, NO_MEMORY } from './addresses/ledger.ts'
import { Leftovers } from './addresses/leftovers.ts'
import { lifetimeOf } from './addresses/lifetime.ts'
import { NetworkEvents } from './addresses/network-events.ts'
import { NetworkView } from './addresses/network-view.ts'
import { OwnChanges } from './addresses/own-changes.ts'
import { StaleAddresses } from './addresses/stale-addresses.ts'
import { Admission } from './admission.ts'
import { onTheEventLoop, type Schedule, wakeUpBy } from './alarm.ts'
import { EffectRunner } from './effect-runner.ts'
import { AbsenceWatch } from './guard/absence-watch.ts'
import { ClockDuty } from './guard/clock-duty.ts'
import { GuardianWatch } from './guard/guardian-watch.ts'
import { RestartKeeper } from './guard/restart-keeper.ts'
import { CheckBoard } from './health/check-board.ts'
import { HealthWatch } from './health/health-watch.ts'
import { Trackers } from './health/trackers.ts'
import { SegmentEvents } from './lan/segment-events.ts'
import { Segments } from './lan/segments.ts'
import { WatchDuty } from './lan/watch-duty.ts'
import { NodeResolution } from './node-resolution.ts'
import { Placement } from './placement.ts'
import type {
  AddressFilePort,
  CheckPort,
  Clock,
  GuardianPort,
  MakeWakeUp,
  NetworkPort,
  NotifyPort,
  SocketPort,
} from './ports.ts'
import { Registry } from './router/registry.ts'
import { EngineStatus } from './telemetry/engine-status.ts'
import { Notices } from './telemetry/notices.ts'
import type { Recorder } from './telemetry/recorder.ts'
import type { ConfigSnapshot, SurroundingsSnapshot } from './telemetry/snapshot.ts'
import { takeoverTimes } from './telemetry/takeover-watch.ts'
import { TurnLoop } from './turn-loop.ts'

export type DaemonPorts = {
  readonly clock: Clock
  readonly network: NetworkPort
  readonly sockets: SocketPort
  readonly guardian: GuardianPort
  readonly recorder: Recorder
  /** Port of the health checks; absent: no check has a result. */
  readonly checks?: CheckPort
  /** Port of the notifications; absent: no program is notified. */
  readonly notify?: NotifyPort
  /** Port of the address files (`interface: { holding: FILE }`); absent: no file names an address. */
  readonly addressFiles?: AddressFilePort
  /** Returns the origin of the configuration and the results of its reloads, for the status only. */
  readonly configuration?: () => ConfigSnapshot
  /** Returns facts about the machine and the process, for the status only. */
  readonly surroundings?: () => SurroundingsSnapshot
  /**
   * Called when the guardian has died or hangs. This daemon then stops, and should end with a failure as its exit
   * status.
   */
  readonly onGuardianLost?: () => void
  /** Called each time the engine sends a beat to the guardian, at least every 6 s; never without a guardian. */
  readonly onBeat?: () => void
  /** Starts a timer; absent: setTimeout. */
  readonly schedule?: Schedule
  /** Returns a random number from 0 to 1; absent: Math.random. */
  readonly random?: () => number
  /** Storage of the installed addresses between two runs of the daemon; absent: no address is remembered. */
  readonly addressMemory?: AddressMemory
  /** True if the process is new, and will call warm() when it has loaded its code. */
  readonly cold?: boolean
  /**
   * Routers of the configuration, resolved with the links and addresses that `network` returns first. By default
   * start() resolves them.
   */
  readonly resolved?: readonly ResolvedRouter[] | undefined
  /**
   * Returns file and hash of the configuration in force; `undefined`: a new process would not find the same
   * configuration. Absent: the engine is never started again without a move of its addresses.
   */
  readonly identity?: () => string | undefined
  /** Version of holdfast, for the record of a restart; absent: 'unknown'. */
  readonly version?: string
  /** Makes the timer that wakes the engine for its alarm; absent: `schedule` makes it. */
  readonly wakeUp?: MakeWakeUp | undefined
}

/**
 * Switches for tests only. A test turns a protection off to show that it is needed. `drainBeforeExpire: false` acts on
 * the timer alone, without reading waiting packets first (ground rule 2). `noticeAbsence: false` continues after a
 * stall as if nothing had happened.
 */
export type DaemonOptions = { readonly drainBeforeExpire: boolean; readonly noticeAbsence?: boolean }

/** The functions of the daemon that the engine calls. */
export type EngineContext = {
  /** The present configuration of the daemon. */
  readonly config: Config
  readonly isStopping: boolean
  /**
   * Called when the guardian is lost. `silence` is the time in milliseconds without a sign of life of the guardian;
   * `undefined` if the guardian died.
   */
  onGuardianLost(silence: number | undefined): void
  /** Called when every router is in Initialize. */
  onIdle(now: Millis): void
}

export class Engine {
  readonly turns: TurnLoop
  readonly view = new NetworkView()
  readonly board = new CheckBoard()
  readonly runner: EffectRunner
  readonly files: AddressFiles
  readonly resolution: NodeResolution
  readonly ledger: AddressLedger
  readonly segments: Segments
  readonly registry: Registry
  readonly placement: Placement
  readonly notices: Notices
  readonly health: HealthWatch
  readonly stale: StaleAddresses
  readonly leftovers: Leftovers
  readonly admission: Admission
  readonly networkEvents: NetworkEvents
  readonly absence: AbsenceWatch
  readonly guardianWatch: GuardianWatch
  readonly clocks: ClockDuty
  readonly watches: WatchDuty
  readonly restart: RestartKeeper
  readonly status: EngineStatus

  constructor(ports: DaemonPorts, options: DaemonOptions, context: EngineContext) {
    const { addressMemory: memory = NO_MEMORY, checks, clock, guardian, network, recorder, sockets } = ports
    const { random = Math.random, schedule = onTheEventLoop, wakeUp = wakeUpBy(schedule) } = ports
    const { drainBeforeExpire } = options
    const onIdle = (now: Millis) => context.onIdle(now)
    this.turns = new TurnLoop({ clock, network, wakeUp, recorder, drainBeforeExpire, onIdle }, this)
    const { board, turns, view } = this
    const config = () => context.config
    const isStopping = () => context.isStopping
    const ownChanges = new OwnChanges()
    const writer = new AddressWriter(network, view, ownChanges)
    this.runner = new EffectRunner(writer)
    this.files = new AddressFiles(ports.addressFiles, recorder)
    this.resolution = new NodeResolution(config(), view, this.files)
    this.ledger = new AddressLedger(memory)
    const { onAnnouncement, onFailure, onPeerReached } = new SegmentEvents(turns, recorder)
    const listeners = { onAnnouncement, onFailure, onPeerReached }
    this.segments = new Segments({ sockets, view, recorder, random, writer, turns, ...listeners })
    this.notices = new Notices({ port: ports.notify, clock, recorder, schedule })
    const takeovers = takeoverTimes(clock)
    const { ledger, notices, resolution, runner, segments } = this
    this.registry = new Registry({
      ...{ recorder, guardian, runner, takeovers },
      onTransition: (router, entered) => {
        turns.markChanged()
        notices.transition(router, entered, { departing: this.registry.departing, stopping: isStopping() })
      },
      onAskChecks: (router, within) => this.health.ask(router, within),
    })
    const { registry } = this
    const trackers = new Trackers(view, board)
    this.placement = new Placement({ resolution, segments, view, ledger, trackers, recorder })
    const onChanged = () => this.restart.changed()
    this.health = new HealthWatch({ checks, board, trackers, registry, recorder, schedule, turns, onChanged })
    this.stale = new StaleAddresses({ view, registry, memory, ledger, recorder, writer })
    this.leftovers = new Leftovers({ recorder, view, registry, writer })
    const { leftovers, placement, stale } = this
    const shared = { config, resolution, placement, registry }
    const onAdmitted = () => turns.markChanged()
    this.admission = new Admission({ ...shared, isStopping, leftovers, notices, runner, onAdmitted })
    this.networkEvents = new NetworkEvents({ ...shared, network, view, recorder, ownChanges, stale })
    const groups = () => (options.noticeAbsence === false ? [] : registry.groups)
    this.absence = new AbsenceWatch({ clock, guardian, groups })
    this.guardianWatch = new GuardianWatch({
      ...{ clock, guardian, recorder, schedule, onBeat: ports.onBeat },
      onLook: () => {
        if (this.absence.sleptUnnoticed) turns.end(turns.begin('guardian'))
      },
      shortestLifetime: () => shortestLifetime(registry),
      onLost: (silence) => context.onGuardianLost(silence),
    })
    const isOn = () => context.config.lease === 'on'
    const routers = () => registry.all
    this.restart = new RestartKeeper({ ports, board, registry, config, isStopping })
    this.clocks = new ClockDuty({ guardian, routers, runner, isOn, onChanged })
    this.watches = new WatchDuty({ routers, isOn })
    const { lateness } = turns
    const parts = { clocks: this.clocks, watches: this.watches, registry, segments, board, notices }
    this.status = new EngineStatus({ ...parts, ports, config, lateness, takeovers, turnCounts: () => turns.counts })
  }
}

/** Returns the shortest lifetime of the addresses that this node may have, in seconds; `undefined` if none has one. */
function shortestLifetime({ all }: Registry): number | undefined {
  const holders = all.filter(({ state }) => state.name !== 'Initialize' && state.name !== 'Backup')
  const lifetimes = holders.flatMap(({ parameters, spec }) => lifetimeOf(spec.lifetime, parameters) ?? [])
  return lifetimes.length === 0 ? undefined : Math.min(...lifetimes)
}
