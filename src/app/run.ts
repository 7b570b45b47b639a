/**
 * `holdfast run`: THE wiring. Configuration, capabilities, kernel, engine, in that order; then, when the engine
 * already runs, everything a person looks at (log, control socket, worker), because the first advertisement comes
 * first. Decides what a signal means; knows nothing of VRRP.
 */
import type { Socket } from 'node:net'
import { hostname } from 'node:os'
import type { NodeSettings } from '../config/node-settings.ts'
import { formatProblem, isError, type Problem, problemAt } from '../config/problem.ts'
import { resolveRouters } from '../config/resolve.ts'
import type { Daemon } from '../daemon/daemon.ts'
import type { Recorder } from '../daemon/telemetry/recorder.ts'
import { WatchedAddressFiles } from '../files/address-file.ts'
import { type KeepalivedReading, loadAny } from '../files/configuration-language.ts'
import { unusableSocket } from '../files/private-socket.ts'
import { judgeScripts } from '../files/script-problem.ts'
import { unusableFolder } from '../files/socket-folder.ts'
import { CompatibilityLayer, type CompatibilityOptions, wasStopped } from '../keepalived/compatibility-layer.ts'
import { openClock } from '../linux/clock.ts'
import { type Guardian, type GuardianFault, openGuardian } from '../linux/guardian/guardian.ts'
import { openGuardianWords } from '../linux/guardian/guardian-words.ts'
import { openKernelTimer } from '../linux/kernel-timer.ts'
import { type Credentials, loadNative, type NativeAddon } from '../linux/native.ts'
import { openNetwork } from '../linux/network.ts'
import { takeNodeLock } from '../linux/node-lock.ts'
import { socketPeer } from '../linux/process/socket-peer.ts'
import { LIMITS } from '../linux/sockets/raw-socket-backend.ts'
import { loadRawSocketPackage, type RawSocketPackage } from '../linux/sockets/raw-socket-package.ts'
import { openSockets } from '../linux/sockets/sockets.ts'
import type { EngineOrders } from '../recording/taped-daemon.ts'
import { untilCrashed } from './crash.ts'
import { type Doors, type Inside, openDoors } from './doors.ts'
import { type EventJournal, openEventJournal } from './event-journal.ts'
import { EXIT } from './exit-code.ts'
import { idle, LiveConfiguration } from './live-configuration.ts'
import type { Log } from './log/log.ts'
import { capabilityProblem } from './machine/capability.ts'
import { nodeView } from './machine/node.ts'
import { schedulingHere, schedulingWords } from './machine/scheduling.ts'
import { lockedWords, vrrpBeside } from './machine/vrrp-beside.ts'
import { Memory } from './managed.ts'
import { startRehearsal } from './rehearsal.ts'
import { ServiceManager } from './service-manager.ts'
import { type RecordOrder, type Taping, taping } from './taping.ts'
import { VERSION } from './version.ts'
import { workerRoom } from './worker-thread.ts'

/** For what is on its way to a webhook; the addresses are off by then, and so is every router. */
const LAST_EVENTS = 2_000

/** For what was handed over just before. */
const LAST_MEMORY = 1_000

const WORKER_LOOK = 2_000

const print = (line: string): void => void process.stderr.write(`${line}\n`)

export type RunOptions = {
  /** Also beside a keepalived. */
  readonly force: boolean
  /** Allow a core dump. */
  readonly core: boolean
  /** The file is keepalived's, and so are those who look at the daemon. */
  readonly keepalived?: KeepalivedOptions
  /** Its configuration is handed to it, and the file is its memory. */
  readonly managed?: NodeSettings
  /** What the engine is told and does is written down. */
  readonly record?: RecordOrder | undefined
}

export type KeepalivedOptions = CompatibilityOptions & {
  readonly reading: KeepalivedReading
  /** What is to be said once about the way it was started. */
  readonly warnings: readonly string[]
}

/** Returns the exit status when the daemon has left, or cannot go on. */
export async function runCommand(file: string, options: RunOptions): Promise<number> {
  const tapes = await taping(options.record)
  const { recorder } = tapes
  const native = loadNative()
  // Set by the guardian when somebody hears what is told.
  const hasManager = process.env.HOLDFAST_SERVICE_MANAGER !== undefined
  const guardian = inherit(native, recorder)
  const last: LastWords = { remember: () => tapes.writeNow() }
  const crashed = untilCrashed(
    () => guardian.release(),
    (error) => last.remember(error),
  )
  try {
    return await Promise.race([
      crashed,
      serve(file, options, { recorder, tapes, will: guardian, native, hasManager, last }),
    ])
  } finally {
    guardian.release()
  }
}

/** What the guardian has given us, and nobody whom we start may have. */
function inherit(native: NativeAddon, recorder: Recorder): Guardian {
  const { HOLDFAST_GUARDIAN_FD: channel, HOLDFAST_GUARDIAN_WORDS: memory } = process.env
  delete process.env.HOLDFAST_GUARDIAN_FD
  delete process.env.HOLDFAST_GUARDIAN_WORDS
  delete process.env.HOLDFAST_SERVICE_MANAGER
  const onFault = ({ message, ...fields }: GuardianFault) => recorder.log('error', message, fields)
  const words = openGuardianWords(native, memory, onFault)
  return openGuardian(kept(native, channel), onFault, words, native)
}

/** Nobody inherits it from us, and our death closes it before anything that takes its time. */
function kept(native: NativeAddon, channel: string | undefined): string | undefined {
  if (channel === undefined || !/^\d+$/.test(channel)) return channel
  try {
    return String(native.keepLast(Number(channel)))
  } catch {
    // It is no descriptor: that shows when it is used, and is told then.
    return channel
  }
}

/** Of an engine with a bug; to the journal, as soon as that is open. */
type LastWords = { remember: (error: unknown) => void }

type Given = {
  readonly last: LastWords
  readonly recorder: Recorder
  readonly tapes: Taping
  readonly will: Guardian
  readonly native: NativeAddon & Credentials
  readonly hasManager: boolean
}

async function serve(file: string, options: RunOptions, given: Given): Promise<number> {
  const { recorder, tapes, will, native } = given
  const { keepalived } = options
  const memory = options.managed && new Memory(file, options.managed)
  const parsed = memory?.read() ?? loadAny(file, keepalived?.reading)
  if ('problems' in parsed) return refuse(parsed.problems)
  const { locate } = parsed
  const stands = wasStopped(keepalived?.socket)
  const read = stands ? idle(parsed.config) : parsed.config
  const { worker, checks, notify, webhook } = workerRoom(read, recorder, () => daemon.report())
  const { config: judged, problems: scripts } = await judgeScripts(read, locate)
  if (memory === undefined && scripts.some(isError)) return refuse([...parsed.warnings, ...scripts])

  const missing = capabilityProblem()
  if (missing !== undefined) {
    print(`holdfast: ${missing}`)
    return EXIT.privilege
  }
  // Before it takes part: a daemon without a socket would be restarted by its probe again and again, each time with a move.
  const unusable = unusableFolder(judged.runDirectory)
  if (unusable !== undefined) return refuse([problemAt(locate, ['runDirectory'], 'error', unusable)])
  const found = judged.io === 'raw-socket' ? rawSockets() : undefined
  if (typeof found === 'string' && memory === undefined) {
    print(`holdfast: ${found}`)
    return EXIT.configuration
  }
  const missingPackage = typeof found === 'string' ? [problemAt(locate, ['io'], 'error', found)] : []
  const config = memory?.judge(judged, [...scripts, ...missingPackage]) ?? judged
  const raw = config.io === 'raw-socket' && typeof found !== 'string' ? found : undefined
  // Two daemons of one node discard each other's advertisements as their own, and both would be Active. Before the
  // kernel is touched: a second one must not sweep what the first one holds.
  if (!options.core) native.forbidDumps()
  const lock = takeNodeLock(native)
  if (!lock.taken) {
    print(`holdfast: ${lockedWords(lock.by)}`)
    return EXIT.failure
  }
  const beside = vrrpBeside(will.armed)
  if (beside.refusal !== undefined && !options.force) {
    print(`holdfast: ${beside.refusal}`)
    return EXIT.failure
  }
  // After the lock: only then a socket that does not answer is stale.
  const blocked = await unusableSocket(config.api.socket)
  if (blocked !== undefined) return refuse([problemAt(locate, ['api', 'socket'], 'error', blocked)])
  const clock = openClock(native)
  const network = openNetwork(native, clock, (message) => recorder.log('warn', message))
  const { problems: environment, config: resolved } = resolveRouters(config, nodeView(network, config), locate)
  if (memory === undefined && environment.some(isError)) {
    network.close()
    return refuse([...parsed.warnings, ...environment])
  }
  const settled = memory?.judge(resolved, environment) ?? resolved

  let opened: (doors: Doors) => void = () => {}
  const doors = new Promise<Doors>((resolve) => {
    opened = resolve
  })
  const addressFiles = new WatchedAddressFiles()
  const live = new LiveConfiguration(
    {
      ...{ file, imported: parsed.imported, stopped: stands },
      hash: memory?.waits == null ? parsed.hash : '',
      managed: memory && { memory: memory.open(recorder), waits: memory.waits },
    },
    {
      recorder,
      // Asked for before the doors are open it waits for them.
      read: async (path, text) => {
        await doors
        const fresh = await worker.parse({
          file: path,
          text,
          settings: options.managed,
          keepalived: keepalived?.reading,
          node: daemon.nodeView(),
          inForce: daemon.config,
        })
        if (fresh.ok) await addressFiles.prepare(fresh.config)
        return fresh
      },
      apply: (next, diff, bearer) => {
        const report = orders.reload(next, diff, bearer)
        webhook.set(daemon.config.notify?.webhook)
        log?.set(daemon.config.log)
        will.setLogFormat(daemon.config.log.format)
        return report
      },
      plan: (next, diff) => daemon.plan(next, diff),
      inForce: () => daemon.config,
    },
  )
  const { daemon, orders } = tapes.made(settled, {
    clock,
    wakeUp: openKernelTimer(native),
    network,
    sockets: openSockets(native, clock, raw),
    will,
    recorder,
    checks,
    notify,
    addressFiles,
    cold: true,
    configuration: () => live.snapshot(),
    surroundings: () => ({
      controlRefused,
      keepalivedBeside: beside.keepalived,
      scheduling: schedulingHere(guardian),
      webhook: webhook.snapshot(),
      journal: journal?.state ?? null,
    }),
    onBeat: () => worker.glance(),
    onForsaken: () => {
      status = EXIT.failure
      leave('guardian lost')
    },
  })
  // Nothing else wakes an engine without a guardian that often.
  if (!will.guarded) setInterval(() => worker.glance(), WORKER_LOOK).unref()
  let controlRefused = 0
  let log: Log | undefined
  let journal: EventJournal | undefined
  const guardian = will.armed ? process.ppid : undefined
  let status: number = EXIT.ok
  const manager = given.hasManager
    ? new ServiceManager({
        tell: (words) => will.tell(words),
        standings: () => daemon.standings(),
        subscribe: (listener) => recorder.chronicle.subscribe(listener),
      })
    : undefined
  const readAgain = (trigger: string) => manager?.reloading(() => live.reload(trigger)) ?? live.reload(trigger)
  const { stopped, leave } = untilStopped(orders, recorder, () => manager?.leaving())
  const peerOf = (socket: Socket) => socketPeer(native, socket)
  const onRefused = () => {
    controlRefused++
  }
  const compatibility =
    keepalived === undefined
      ? undefined
      : new CompatibilityLayer(keepalived, {
          recorder,
          dump: (order) => worker.dump(order),
          dumped: () => ({ snapshot: daemon.snapshot(), config: daemon.config }),
          reload: readAgain,
          standDown: (trigger) => live.standDown(trigger),
          peerOf,
          onRefused,
          pid: will.armed ? process.ppid : process.pid,
        })
  const reload = (trigger: string) => compatibility?.reload(trigger) ?? readAgain(trigger)
  listenToSignals(daemon, recorder, { leave, reload: (trigger) => void reload(trigger), compatibility })
  will.ready()
  recorder.chronicle.record({
    ...{ kind: 'started', pid: process.pid, hostname: hostname(), version: VERSION, config: file },
    guardian: will.armed,
  })
  if (settled.log.format !== undefined) will.setLogFormat(settled.log.format)
  orders.start()
  recorder.log('info', `holdfast ${VERSION} runs with ${settled.virtualRouters.length} virtual routers`, {
    version: VERSION,
    config: file,
    guardian: will.armed,
  })
  const scheduling = schedulingHere(guardian)
  const words = schedulingWords(scheduling)
  if (words !== undefined) recorder.log(words.level, words.message, { scheduling })
  if (stands) recorder.log('warn', `Stopped over keepalived's socket in an earlier life: idle until a reload`)
  for (const warning of keepalived?.warnings ?? []) recorder.log('warn', warning)
  const told = [...parsed.warnings, ...scripts, ...environment].filter((problem) => !isError(problem))
  for (const problem of told) recorder.log('warn', formatProblem(problem))
  memory?.tell(recorder)
  if (raw !== undefined) for (const limit of LIMITS) recorder.log('warn', `io: raw-socket: ${limit}`, { limit })
  for (const warning of beside.warnings) recorder.log('warn', warning, { processes: beside.processes })
  if (!will.armed)
    recorder.log('warn', 'No guardian: when this process dies, its addresses stay (start it with bin/holdfast)')
  else if (!will.guarded)
    recorder.log('warn', 'The guardian keeps no deadline and renews no lifetime: a frozen engine keeps its addresses')

  const { attachLog } = await import('./log/log.ts')
  const lines = attachLog(recorder, daemon.config.log)
  log = lines
  const events = openEventJournal(config.journal, recorder)
  journal = events
  given.last.remember = (error) => {
    try {
      events.crashed(error)
    } finally {
      tapes.writeNow()
    }
  }
  const inside: Inside = {
    recorder,
    worker,
    leave,
    snapshot: () => daemon.snapshot(),
    reload,
    rehearse: () => live.rehearse(),
    handOver: memory && ((handed) => live.handOver(handed)),
    yield: (router, forMs) => orders.yield(router, forMs),
    peerOf,
    onRefused,
  }
  opened(await openDoors(config.api, inside))
  await compatibility?.open()
  startRehearsal(recorder, () => {
    recorder.log('debug', 'Loaded and rehearsed')
    daemon.warm()
  })
  await stopped
  recorder.log('info', 'holdfast has left')
  recorder.chronicle.record({ kind: 'stopped' })
  orders.close()
  await webhook.finish(LAST_EVENTS)
  await Promise.all([lines.flush(), journal.flush(), live.flush(LAST_MEMORY), tapes.finish()])
  lock.release()
  await compatibility?.close()
  // The last thing: whoever waits for the end (holdfast stop) may start another daemon when the socket is gone.
  await (await doors).close()
  return status
}

/** Not installed or not built is a sentence; starting again will not change it, so it counts as configuration. */
function rawSockets(): RawSocketPackage | string {
  try {
    return loadRawSocketPackage()
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_RAW_SOCKET') return error.message
    throw error
  }
}

function refuse(problems: readonly Problem[]): number {
  for (const problem of problems) print(formatProblem(problem))
  return EXIT.configuration
}

/** A second order to leave does not make it faster, the bound is 2 × interval. */
function untilStopped(orders: EngineOrders, recorder: Recorder, onLeaving: () => void) {
  let leaving = false
  let done = () => {}
  const stopped = new Promise<void>((resolve) => {
    done = resolve
  })
  const leave = (trigger: string) => {
    recorder.log('info', `${trigger}: ${leaving ? 'already leaving' : 'leaving'}`, { trigger })
    if (leaving) return
    leaving = true
    recorder.chronicle.record({ kind: 'stopOrdered', trigger })
    onLeaving()
    void orders.stop().then(done)
  }
  return { stopped, leave }
}

type Orders = {
  readonly leave: (trigger: string) => void
  readonly reload: (trigger: string) => void
  readonly compatibility: Pick<CompatibilityLayer<unknown>, 'dump'> | undefined
}

function listenToSignals(daemon: Daemon, recorder: Recorder, { leave, reload, compatibility }: Orders): void {
  process.on('SIGTERM', leave)
  process.on('SIGINT', leave)
  // Without a listener the first would open Node's debugger and the second would kill the engine.
  for (const [signal, kind] of [
    ['SIGUSR1', 'data'],
    ['SIGUSR2', 'stats'],
  ] as const) {
    process.on(signal, () => {
      // Somebody looks every few seconds: the log is not what he looks at.
      if (compatibility !== undefined) return compatibility.dump(kind)
      for (const router of daemon.snapshot().routers) {
        recorder.log('info', `${router.name}: ${router.state} since ${router.since} (${router.reason})`, {
          router: router.name,
          snapshot: router,
        })
      }
    })
  }
  process.on('SIGHUP', reload)
}
