/**
 * The second stage of a daemon's start: makes the engine and the parts around it, from the values that start.ts has
 * checked. No router runs when compose() returns. Each part is made before the parts that need it. If two parts need
 * each other, the first one gets the second by a later call (`attach`, `through`, `onApplied`).
 */
import type { Socket } from 'node:net'
import { LedgerFile } from '../daemon/addresses/ledger-file.ts'
import type { Daemon } from '../daemon/daemon.ts'
import { identityText } from '../daemon/guard/restart-record.ts'
import type { ConfigSnapshot, SurroundingsSnapshot } from '../daemon/telemetry/snapshot.ts'
import { WatchedAddressFiles } from '../files/address-file.ts'
import type { ControlPeer } from '../files/private-socket.ts'
import { CompatibilityLayer } from '../keepalived/compatibility-layer.ts'
import { type KernelTimer, openKernelTimer } from '../linux/kernel-timer.ts'
import { socketPeer } from '../linux/process/socket-peer.ts'
import { ReadSockets } from '../linux/sockets/read-sockets.ts'
import { openSockets } from '../linux/sockets/sockets.ts'
import { LOG } from '../log/log.ts'
import type { EngineOrders, OrderedDaemon } from '../recording/taped-daemon.ts'
import { ConfigurationAccount } from './configuration/configuration-account.ts'
import { LiveConfiguration } from './configuration/live-configuration.ts'
import type { ReloadAnswer } from './configuration/reload-answer.ts'
import { Departure } from './departure.ts'
import { schedulingHere } from './machine/scheduling.ts'
import { ServiceManager } from './service-manager.ts'
import type { Start, StartOrder } from './start.ts'
import { VERSION } from './version.ts'
import type { Workers } from './worker-thread.ts'

/** Milliseconds between two checks of the worker thread if no guardian wakes the engine. */
const WORKER_LOOK = 2_000

/** A daemon with all parts that are needed to run and stop it. */
export type EngineProcess = Pick<StartOrder, 'file' | 'recorder' | 'tapes' | 'guardian' | 'journal'> &
  Pick<Start, 'config' | 'lock'> &
  Pick<Workers, 'worker' | 'webhook'> & {
    readonly daemon: Daemon
    /**
     * Orders to the engine. Every order that changes the engine goes through this object, so that a recording contains
     * it.
     */
    readonly orders: EngineOrders
    readonly live: LiveConfiguration
    readonly departure: Departure
    readonly ledger: LedgerFile
    readonly surroundings: Surroundings
    readonly compatibility: CompatibilityLayer<ReloadAnswer> | undefined
    /** Reloads the configuration because of a signal or a command. Never rejects. */
    readonly reload: (trigger: string) => Promise<ReloadAnswer>
    readonly peerOf: (socket: Socket) => ControlPeer | undefined
    /** Process id of the guardian; `undefined` without a guardian. */
    readonly guardianPid: number | undefined
  }

export function compose(begun: Start, order: StartOrder): EngineProcess {
  const { file, guardian, journal, native, options, recorder, tapes } = order
  const { config, lock, workers } = begun
  const { webhook, worker } = workers
  const guardianPid = guardian.armed ? process.ppid : undefined
  const departure = new Departure(recorder)
  const surroundings = new Surroundings({ guardianPid, webhook, journal, beside: begun.beside.keepalived })
  const account = new ConfigurationAccount(sourceOf(begun, order), recorder)
  const addressFiles = new WatchedAddressFiles()
  const ledger = new LedgerFile(config.runDirectory, (message) =>
    recorder.logLimited('ledger unwritten', LOG.ledgerNotWritten, message),
  )
  const timer = openKernelTimer(native)
  const read = new ReadSockets()
  // Without an alarm of the kernel, or without the addon's sockets, the engine cannot prove that it has read everything.
  if (timer !== undefined && begun.raw === undefined) guardian.startClock({ alarm: timer.timer, sockets: read })
  const engine = engineOf(begun, order, { account, addressFiles, departure, ledger, surroundings, timer, read })
  const { daemon, orders } = engine
  workers.attach(daemon)
  if (!guardian.guarded) setInterval(() => worker.glance(), WORKER_LOOK).unref()
  const manager = order.hasManager ? serviceManagerOf(daemon, order) : undefined
  departure.through(() => {
    manager?.leaving()
    return orders.stop()
  })
  const live = liveConfiguration(account, engine, { addressFiles, options, worker })
  live.onApplied(({ log, notify }) => {
    webhook.set(notify?.webhook)
    guardian.setLogFormat(log.format)
  })
  const reloadFile = (trigger: string) => manager?.reloading(() => live.reload(trigger)) ?? live.reload(trigger)
  const peerOf = (socket: Socket) => socketPeer(native, socket)
  const compatibility =
    options.keepalived &&
    new CompatibilityLayer(options.keepalived, {
      ...{ recorder, peerOf, reload: reloadFile, pid: guardianPid ?? process.pid },
      dump: (wanted) => worker.dump(wanted),
      dumped: () => ({ snapshot: daemon.snapshot(), config: daemon.config }),
      standDown: (trigger) => live.standDown(trigger),
      onRefused: () => surroundings.refused(),
    })
  const reload = (trigger: string) => compatibility?.reload(trigger) ?? reloadFile(trigger)
  return {
    ...{ file, recorder, tapes, guardian, guardianPid, journal, config, lock, worker, webhook },
    ...{ daemon, orders, live, departure, surroundings, compatibility, reload, peerOf, ledger },
  }
}

type EngineParts = {
  readonly account: ConfigurationAccount
  readonly addressFiles: WatchedAddressFiles
  readonly departure: Departure
  readonly ledger: LedgerFile
  readonly surroundings: Surroundings
  readonly timer: KernelTimer | undefined
  /** List of the sockets that the engine reads. */
  readonly read: ReadSockets
}

function engineOf(
  { clock, config, network, raw, routers, workers: { checks, notify, worker } }: Start,
  { guardian, native, recorder, tapes }: StartOrder,
  { account, addressFiles, departure, ledger, read, surroundings, timer }: EngineParts,
): OrderedDaemon {
  return tapes.made(config, {
    ...{ clock, network, resolved: routers, guardian, recorder, checks, notify, addressFiles, cold: true },
    addressMemory: ledger,
    wakeUp: timer?.wakeUp,
    sockets: openSockets(native, clock, raw, read),
    configuration: () => account.snapshot(),
    identity: () => identityOf(account.snapshot()),
    version: VERSION,
    surroundings: () => surroundings.snapshot(),
    onBeat: () => worker.glance(),
    onGuardianLost: () => departure.fail('guardian lost'),
  })
}

/**
 * Returns file and hash of the configuration in force; `undefined` if a new process would not read the same
 * configuration from the file.
 */
const identityOf = ({ file, hash, managed, stoppedAt }: ConfigSnapshot): string | undefined =>
  file === null || hash === null || managed !== null || stoppedAt !== null ? undefined : identityText(file, hash)

const sourceOf = ({ isStopped: stopped, memory, parsed }: Start, { file, recorder }: StartOrder) => ({
  ...{ file, imported: parsed.imported, stopped },
  hash: memory?.waits == null ? parsed.hash : '',
  managed: memory && { memory: memory.open(recorder), waits: memory.waits },
})

const serviceManagerOf = (daemon: Daemon, { guardian, recorder }: StartOrder) =>
  new ServiceManager({
    tell: (words) => guardian.tell(words),
    routerSummaries: () => daemon.routerSummaries(),
    subscribe: (listener) => recorder.chronicle.subscribe(listener),
  })

function liveConfiguration(
  account: ConfigurationAccount,
  { daemon, orders }: OrderedDaemon,
  {
    addressFiles,
    options,
    worker,
  }: Pick<EngineParts, 'addressFiles'> & Pick<StartOrder, 'options'> & Pick<Workers, 'worker'>,
): LiveConfiguration {
  return new LiveConfiguration(account, {
    async read(file, text) {
      const fresh = await worker.parse({
        ...{ file, text, settings: options.managed, keepalived: options.keepalived?.reading },
        node: daemon.nodeView(),
        inForce: daemon.config,
      })
      if (fresh.ok) await addressFiles.prepare(fresh.config)
      return fresh
    },
    apply: (next, diff, handOver) => orders.reload(next, diff, handOver),
    plan: (next, diff) => daemon.plan(next, diff),
    inForce: () => daemon.config,
  })
}

type SurroundingsParts = {
  readonly guardianPid: number | undefined
  readonly beside: SurroundingsSnapshot['keepalivedBeside']
  readonly webhook: { snapshot(): SurroundingsSnapshot['webhook'] }
  readonly journal: { readonly state: SurroundingsSnapshot['journal'] }
}

/** Collects the facts about machine and process for the status. */
class Surroundings {
  readonly #parts: SurroundingsParts
  #controlRefused = 0

  constructor(parts: SurroundingsParts) {
    this.#parts = parts
  }

  /** Counts a client of the control socket that has no permission for its request. */
  refused(): void {
    this.#controlRefused++
  }

  snapshot(): SurroundingsSnapshot {
    const { beside, guardianPid, journal, webhook } = this.#parts
    return {
      controlRefused: this.#controlRefused,
      keepalivedBeside: beside,
      scheduling: schedulingHere(guardianPid),
      webhook: webhook.snapshot(),
      journal: journal.state,
    }
  }
}
