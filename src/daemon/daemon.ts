/**
 * The daemon: starts and stops the engine, and carries out what an operator, a configuration or the kernel asks of it, each
 * in one turn. How a turn goes is turn-loop.ts's, which parts there are engine.ts's, what to decide vrrp/'s, how the kernel
 * is spoken to linux/'s.
 */
import type { Config } from '../config/config.ts'
import { type ConfigDiff, diffConfig } from '../config/diff.ts'
import { addressFilesIn } from '../config/holding.ts'
import type { NamedAddress } from '../config/named-address.ts'
import type { NodeView } from '../config/node-view.ts'
import { nowhere, type Problem, problemAt } from '../config/problem.ts'
import { type ResolvedRouter, resolveRouters } from '../config/resolve.ts'
import { unknownRouter } from '../config/text/spelling.ts'
import { type Millis, plus } from '../wire/units.ts'
import { ColdStart } from './cold-start.ts'
import { type DaemonOptions, type DaemonPorts, Engine, type EngineOwner } from './engine.ts'
import type { NetworkEvent } from './ports.ts'
import { applyReload, type Bearer, bearerWords, planReload, type ReloadReport } from './reload.ts'
import { endYield, yieldAddresses } from './router/operator-yield.ts'
import { postEvent } from './router/post-event.ts'
import type { EngineReport, ReportPart } from './telemetry/report.ts'
import type { Snapshot, Standing } from './telemetry/snapshot.ts'

export type { DaemonOptions, DaemonPorts } from './engine.ts'

const LONGEST_YIELD = 31 * 24 * 3_600_000

export class Daemon {
  #config: Config
  readonly #ports: DaemonPorts
  readonly #engine: Engine
  readonly #coldStart = new ColdStart()
  /** Calls that wait for the end. */
  #stopped: (() => void)[] = []
  #stopping = false

  constructor(config: Config, ports: DaemonPorts, options: DaemonOptions = { drainBeforeExpire: true }) {
    this.#config = config
    this.#ports = ports
    this.#engine = new Engine(ports, options, this.#owner())
  }

  #owner(): EngineOwner {
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

  /** Sweeps, opens, starts. Returns with every router in Backup, Active, or in fault with a reason. */
  start(): void {
    const { clock, cold, network } = this.#ports
    const { guardianWatch, health, notices, placement, registry, stale, turns, view } = this.#engine
    view.load(network)
    this.#followFiles()
    const hasSwept = stale.sweep(this.#config)
    const resolved = this.#firstResolution(hasSwept)
    const now = clock.now()
    health.know(this.#config, now)
    notices.know(this.#config)
    for (const each of resolved) registry.add(each, now)
    registry.regroup(this.#config.syncGroups, now)
    placement.refresh(registry.routers, now, resolved)
    if (cold === true) for (const router of registry.all) this.#coldStart.hold(router)
    for (const router of registry.all) postEvent(router, { kind: 'startup' }, now)
    network.watch((event) => this.#onNetworkEvent(event))
    turns.end(clock.now())
    health.start()
    notices.prepare()
    // A daemon without its guardian leaves: nothing may be started after that.
    guardianWatch.start()
  }

  /**
   * Returns the resolution by which the configuration was judged. An address that the sweep has removed may have been chosen
   * as a source there, and an address file may say something else by now: then the routers are resolved again.
   */
  #firstResolution(hasSwept: boolean): readonly ResolvedRouter[] {
    const { files, resolution } = this.#engine
    const { resolved } = this.#ports
    const isCurrent = !hasSwept && files.named.size === 0
    return resolved !== undefined && isCurrent ? resolved : resolution.resolve()
  }

  /** The process has loaded and compiled what a start needs: routers may preempt as they are configured to. */
  warm(): void {
    if (this.#stopping) return
    const { registry, turns } = this.#engine
    const now = turns.begin()
    this.#coldStart.release(registry.routers, now)
    turns.end(now)
  }

  /** Stops through Leaving. Resolves when no router answers for an address any more and no program runs. */
  stop(): Promise<void> {
    const { health, notices, registry, turns } = this.#engine
    const now = turns.begin()
    const stopped = new Promise<void>((resolve) => this.#stopped.push(resolve))
    this.#stopping = true
    // One event for all members of a group, which leaves together.
    for (const group of registry.groups) group.shutDown(now)
    turns.markChanged()
    // Results change nothing any more, and programs must not outlive this daemon.
    const checksStopped = health.stop()
    turns.end(now)
    const notified = stopped.then(() => notices.finish())
    return Promise.all([notified, checksStopped]).then(() => undefined)
  }

  /** Call it after stop(): nothing of this daemon keeps the process alive. */
  close(): void {
    const { guardianWatch, segments, turns } = this.#engine
    turns.stop()
    guardianWatch.stop()
    segments.close()
    this.#ports.network.close()
    this.#ports.addressFiles?.close()
  }

  /**
   * No guardian renews our addresses any more, or removes them when this engine dies: better another node than a VIP that
   * outlives its holder. What the kernel drops meanwhile stays off.
   */
  #leaveWithoutGuardian(silence: number | undefined): void {
    const { recorder } = this.#ports
    const why = silence === undefined ? 'is gone' : `has been silent for ${Math.round(silence)} ms`
    recorder.log('error', `The guardian ${why}: leaving, because nobody stands behind this engine`)
    const silent = silence === undefined ? {} : { silentMs: Math.round(silence) }
    recorder.chronicle.record({ kind: 'guardianLost', ...silent })
    for (const { cleanup } of this.#engine.registry.groups) cleanup.guardianLost = true
    void this.stop()
    this.#ports.onForsaken?.()
  }

  /** No router answers for an address; after stop() that is the end. */
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
   * Hands the addresses of the router, or of the sync group, to another node, always with its whole sync group. For so
   * long the effective priority is 1; 0 ends an earlier yield. Without a successor the router is Active again after Leaving.
   * Returns why not.
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
      return refuse(`Cannot yield for ${forMillis} ms: at most 31 days`)
    const { recorder } = this.#ports
    const now = turns.begin()
    const { group, title } = router
    const reason =
      forMillis === 0
        ? endYield(group.members, group.name, now)
        : yieldAddresses(group.members, plus(now, forMillis), now, recorder.chronicle)
    if (reason !== undefined) return refuse(reason)
    const does = forMillis === 0 ? 'an operator ended its yield period' : `yields for ${forMillis} ms`
    recorder.log('info', `${title}: ${does}`, { router: router.name, forMillis })
    turns.markChanged()
    turns.end(now)
    return undefined
  }

  // Configuration ------------------------------------------------------------------------------------------------------

  /** In force. */
  get config(): Config {
    return this.#config
  }

  /** Returns the node as a configuration for reload() is to be judged by. */
  nodeView(): NodeView {
    return this.#engine.resolution.nodeView()
  }

  /**
   * Takes another configuration, which was judged against nodeView(). A router that means the same is not touched; what a
   * difference costs is reload.ts's. Refused while the daemon leaves. `diff`: from `config` to the next one; finding it takes
   * longer than applying it, and can be done elsewhere. `bearer`: it was handed over.
   */
  reload(next: Config, diff: ConfigDiff = diffConfig(this.#config, next), bearer?: Bearer): ReloadReport {
    if (this.#stopping) return { ok: false, reason: 'the daemon is leaving' }
    const engine = this.#engine
    const { health, leftovers, notices, placement, registry, resolution, runner, stale, turns } = engine
    const { recorder } = this.#ports
    const now = turns.begin()
    const before = this.#config
    this.#config = next
    this.#followFiles()
    resolution.reconfigure(next)
    health.know(next, now)
    notices.know(next)
    const resolved = resolution.resolve()
    const elsewhere = placement.elsewhere(registry.routers, resolved)
    const plan = planReload(before, next, diff, { held: registry.heldByDeparting(), elsewhere })
    const { changes, checksChanged } = plan.report
    if (bearer?.again !== true)
      recorder.chronicle.record({
        ...{ kind: 'reloaded', ok: true, changes: [...changes], checksChanged: [...checksChanged] },
        ...bearerWords(bearer),
      })
    stale.sweepNew(before, next)
    const { admission, ledger } = engine
    const dropped = applyReload(plan, next, { admission, ledger, placement, registry }, resolved, now)
    runner.run(now)
    leftovers.take(dropped, now)
    turns.markChanged()
    turns.end(now)
    health.reload(diff.checksChanged)
    notices.prepare()
    return plan.report
  }

  /** Returns what reload() would report, and changes nothing. */
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
    const now = turns.begin()
    placement.refresh(registry.routers, now)
    turns.markChanged()
    turns.end(now)
  }

  // Kernel -------------------------------------------------------------------------------------------------------------

  #onNetworkEvent(event: NetworkEvent): void {
    const { networkEvents, turns } = this.#engine
    if (networkEvents.isOld(event)) return
    const now = turns.begin()
    if (networkEvents.take(event, now) && !turns.isServing) turns.end(now)
  }

  // Status -------------------------------------------------------------------------------------------------------------

  snapshot(): Snapshot {
    return this.#engine.status.snapshot()
  }

  /** Returns the snapshot and what is measured, in pieces: the engine may go on in between. */
  report(): Generator<ReportPart, EngineReport> {
    return this.#engine.status.report()
  }

  /** Returns the state of each router, without the rest of a snapshot. */
  standings(): readonly Standing[] {
    return this.#engine.status.standings()
  }
}
