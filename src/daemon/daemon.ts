/**
 * Starts and stops the engine. Each request of an operator, each new configuration and each report of the kernel is
 * handled in one turn. The order inside a turn is in turn-loop.ts, and engine.ts creates the parts of the engine.
 */
import { refusedValue } from '../base/refused-value.ts'
import type { Config } from '../config/config.ts'
import { type ConfigDiff, diffConfig } from '../config/diff.ts'
import { addressFilesIn } from '../config/holding.ts'
import type { NamedAddress } from '../config/named-address.ts'
import type { NodeView } from '../config/node-view.ts'
import { nowhere, type Problem, problemAt } from '../config/problem.ts'
import { resolveRouters } from '../config/resolve.ts'
import { unknownRouter } from '../config/text/spelling.ts'
import { LOG } from '../log/log.ts'
import { type Millis, plus } from '../wire/units.ts'
import { ColdStart } from './cold-start.ts'
import { type DaemonOptions, type DaemonPorts, Engine, type EngineContext } from './engine.ts'
import { startFirstRouters } from './first-routers.ts'
import type { Obstacle } from './guard/restart-keeper.ts'
import type { NetworkEvent, RestartOrder } from './ports.ts'
import { applyReload, type HandOver, handOverFields, planReload, type ReloadReport } from './reload.ts'
import { endYield, yieldAddresses } from './router/operator-yield.ts'
import type { EngineReport, ReportPart } from './telemetry/report.ts'
import type { RouterSummary, Snapshot } from './telemetry/snapshot.ts'

export type { DaemonOptions, DaemonPorts } from './engine.ts'

const LONGEST_YIELD = 31 * 24 * 3_600_000

export class Daemon {
  #config: Config
  readonly #ports: DaemonPorts
  readonly #engine: Engine
  readonly #coldStart = new ColdStart()
  /** Functions that resolve the promises which stop() returned. */
  #stopped: (() => void)[] = []
  #stopping = false

  constructor(config: Config, ports: DaemonPorts, options: DaemonOptions = { drainBeforeExpire: true }) {
    this.#config = config
    this.#ports = ports
    this.#engine = new Engine(ports, options, this.#context())
  }

  #context(): EngineContext {
    const daemon = this
    return {
      get config() {
        return daemon.#config
      },
      get isStopping() {
        return daemon.#stopping
      },
      onGuardianLost: (silence) => daemon.#leaveWithoutGuardian(silence),
      onIdle: (now) => daemon.#finish(now),
    }
  }

  // Start and stop -----------------------------------------------------------------------------------------------------

  /**
   * Removes leftover addresses, opens the sockets and starts the routers. When start() returns, every router is Backup,
   * Active, or in fault with a reason.
   */
  start(): void {
    const { clock, guardian, network } = this.#ports
    const { guardianWatch, health, notices, turns, view } = this.#engine
    view.load(network)
    this.#followFiles()
    const first = startFirstRouters(this.#engine, this.#ports, this.#config, this.#coldStart)
    network.watch((event) => this.#onNetworkEvent(event))
    guardian.clock?.listen(turns.serveCover)
    turns.end(clock.now())
    first.settle(clock.now())
    health.start()
    notices.prepare()
    // If the guardian is lost, the daemon stops. After the loss of the guardian, start() must not start anything.
    guardianWatch.start()
  }

  /** Ends the delay of preemption, because the process has loaded and compiled the code that a start needs. */
  warm(): void {
    if (this.#stopping) return
    const { registry, turns } = this.#engine
    const now = turns.begin('request')
    this.#coldStart.release(registry.routers, now)
    turns.end(now)
  }

  /** Stops all routers through Leaving. Resolves when no router answers for an address and no program runs. */
  stop(): Promise<void> {
    const { health, notices, registry, restart, turns } = this.#engine
    const now = turns.begin('request')
    const stopped = new Promise<void>((resolve) => this.#stopped.push(resolve))
    this.#stopping = true
    // An orderly end is no crash, whatever its exit status is.
    restart.changed()
    restart.settle()
    // One event stops all members of a sync group, which leave together.
    for (const group of registry.groups) group.shutDown(now)
    turns.markChanged()
    // Results of health checks no longer have an effect, and their programs must not outlive the daemon.
    const checksStopped = health.stop()
    turns.end(now)
    const notified = stopped.then(() => notices.finish())
    return Promise.all([notified, checksStopped]).then(() => undefined)
  }

  /**
   * Returns the record for an engine that replaces this one without a move of the addresses (docs/adr/0096), or the reason
   * why none can.
   */
  forUpgrade(): RestartOrder | Obstacle {
    const { notices, restart } = this.#engine
    const reason = 'a program of a notification still runs'
    return notices.isPending ? { reason, isPassing: true } : restart.forUpgrade()
  }

  /** Continues after the guardian has refused to replace this engine: gives the guardian the record of a crash again. */
  endUpgrade(): void {
    const { restart, turns } = this.#engine
    const now = turns.begin('request')
    restart.changed()
    turns.end(now)
  }

  /** Closes sockets and timers, which keep the process alive. The caller must call stop() before. */
  close(): void {
    const { guardianWatch, segments, turns } = this.#engine
    turns.stop()
    guardianWatch.stop()
    segments.close()
    this.#ports.network.close()
    this.#ports.addressFiles?.close()
  }

  /**
   * Stops the daemon after the loss of the guardian. Without the guardian, no process renews the VIPs, or removes them
   * if this engine dies. Another node must take over before a VIP outlives its holder. Addresses that the kernel
   * removes in the meantime are not installed again.
   */
  #leaveWithoutGuardian(silence: number | undefined): void {
    const { recorder } = this.#ports
    const what = silence === undefined ? 'Guardian died' : `Guardian has not responded for ${Math.round(silence)} ms`
    recorder.log(LOG.guardianLost, `${what}; shutting down, because no process would remove the VIPs after a crash`)
    const silent = silence === undefined ? {} : { silentMs: Math.round(silence) }
    recorder.chronicle.record({ kind: 'guardianLost', ...silent })
    for (const { cleanup } of this.#engine.registry.groups) cleanup.guardianLost = true
    void this.stop()
    this.#ports.onGuardianLost?.()
  }

  /** Ends stop(), because no router answers for an address. */
  #finish(now: Millis): void {
    const { leftovers, notices, registry, stale } = this.#engine
    if (this.#stopping) {
      leftovers.runLast(now)
      stale.forgetRemoved(this.#config, leftovers)
      notices.stop(registry.all)
    }
    for (const resolve of this.#stopped.splice(0)) resolve()
  }

  // Operator -----------------------------------------------------------------------------------------------------------

  /**
   * Hands the addresses of a router, or of a sync group, to another node. A router in a group takes its whole group
   * along. For `forMillis` the effective priority is 1; 0 ends an earlier yield. Without a successor the router becomes
   * Active again. Returns a problem if the router cannot yield, otherwise `undefined`.
   */
  yield(name: string, forMillis: number): Problem | undefined {
    const refuse = (why: string) => problemAt(nowhere, [], 'error', why)
    const { registry, turns } = this.#engine
    const routers = [...registry.routers.values()]
    const router = registry.routers.get(name) ?? routers.find(({ group }) => group.name === name)
    if (router === undefined) {
      const groups = routers.flatMap(({ group }) => group.name ?? [])
      return refuse(unknownRouter(name, [...new Set([...registry.routers.keys(), ...groups])]))
    }
    if (!(forMillis >= 0 && forMillis <= LONGEST_YIELD))
      return refuse(refusedValue('forMs', forMillis, `a number from 0 to ${LONGEST_YIELD} (31 days)`))
    const { recorder } = this.#ports
    const now = turns.begin('request')
    const { group, title } = router
    const reason =
      forMillis === 0
        ? endYield(group.members, group.name, now)
        : yieldAddresses(group.members, plus(now, forMillis), now, recorder.chronicle)
    if (reason !== undefined) return refuse(reason)
    this.#engine.restart.changed()
    const does =
      forMillis === 0
        ? 'an operator ended its yield period'
        : `an operator moved its addresses away for ${forMillis} ms (yield)`
    recorder.log(LOG.yieldChanged, `${title}: ${does}`, { router: router.name, forMillis })
    turns.markChanged()
    turns.end(now)
    return undefined
  }

  // Configuration ------------------------------------------------------------------------------------------------------

  /** Configuration in force. */
  get config(): Config {
    return this.#config
  }

  /** Returns the interfaces and addresses of this node, against which a new configuration is checked. */
  nodeView(): NodeView {
    return this.#engine.resolution.nodeView()
  }

  /**
   * Replaces the configuration by one that was checked against nodeView(). Routers without a difference are not
   * touched; reload.ts decides what a difference means. A stopping daemon refuses a reload. `diff` is the difference
   * from `config` to `next`. A different thread can compute this difference, because that takes longer than the reload.
   * `handOver` is set if a program handed the configuration over.
   */
  reload(next: Config, diff: ConfigDiff = diffConfig(this.#config, next), handOver?: HandOver): ReloadReport {
    if (this.#stopping) return { ok: false, reason: 'the daemon is leaving' }
    const engine = this.#engine
    const { health, leftovers, notices, placement, registry, resolution, runner, stale, turns } = engine
    const { recorder } = this.#ports
    const now = turns.begin('request')
    const before = this.#config
    this.#config = next
    this.#followFiles()
    resolution.reconfigure(next)
    health.setChecks(next, now)
    notices.configure(next)
    const resolved = resolution.resolve()
    const elsewhere = placement.elsewhere(registry.routers, resolved)
    const plan = planReload(before, next, diff, { held: registry.heldByDeparting(), elsewhere })
    const { changes, checksChanged } = plan.report
    if (handOver?.again !== true)
      recorder.chronicle.record({
        ...{ kind: 'reloaded', ok: true, changes: [...changes], checksChanged: [...checksChanged] },
        ...handOverFields(handOver),
      })
    stale.sweepNew(before, next)
    const { admission, ledger } = engine
    const dropped = applyReload(plan, next, { admission, ledger, placement, registry }, resolved, now)
    runner.run(now)
    leftovers.take(dropped, now)
    turns.markChanged()
    engine.restart.changed()
    turns.end(now)
    health.reload(diff.checksChanged)
    notices.prepare()
    return plan.report
  }

  /** Returns the report that reload() would give for a configuration. Changes nothing. */
  plan(next: Config, diff: ConfigDiff): ReloadReport {
    if (this.#stopping) return { ok: false, reason: 'the daemon is leaving' }
    const { placement, registry } = this.#engine
    const { routers } = resolveRouters(next, this.nodeView())
    const elsewhere = placement.elsewhere(registry.routers, routers)
    return planReload(this.#config, next, diff, { held: registry.heldByDeparting(), elsewhere }).report
  }

  #followFiles(): void {
    const { files } = this.#engine
    files.follow(addressFilesIn(this.#config), (file, reading) => this.#onAddressNamed(file, reading))
  }

  #onAddressNamed(file: string, reading: NamedAddress['reading']): void {
    const { files, placement, registry, turns } = this.#engine
    if (!files.take(file, reading)) return
    const now = turns.begin('request')
    placement.refresh(registry.routers, now)
    turns.markChanged()
    turns.end(now)
  }

  // Kernel -------------------------------------------------------------------------------------------------------------

  #onNetworkEvent(event: NetworkEvent): void {
    const { networkEvents, turns } = this.#engine
    if (networkEvents.isOld(event)) return
    const now = turns.begin('network')
    if (networkEvents.take(event, now) && !turns.isServing) turns.end(now)
  }

  // Status -------------------------------------------------------------------------------------------------------------

  snapshot(): Snapshot {
    return this.#engine.status.snapshot()
  }

  /** Returns the snapshot and the metrics in several pieces, so that the engine can work in between. */
  report(): Generator<ReportPart, EngineReport> {
    return this.#engine.status.report()
  }

  /** Returns the state of each router, without the rest of a snapshot. */
  routerSummaries(): readonly RouterSummary[] {
    return this.#engine.status.routerSummaries()
  }
}
