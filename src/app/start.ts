/**
 * The first stage of a daemon's start: all checks that may refuse the start, before the daemon sends a packet or
 * changes an address. This file decides the order of the checks. The daemon ends with a message if the configuration is
 * invalid, a capability is missing, another daemon runs on this node, or a socket cannot be opened. An engine with
 * --managed is idle instead if only its file is invalid (docs/adr/0051). Kernel tables and configuration are read once,
 * and compose.ts gets both in the checked form.
 */
import type { Config } from '../config/config.ts'
import type { NodeSettings } from '../config/node-settings.ts'
import { formatProblem, isError, type Locate, type Problem, problemAt } from '../config/problem.ts'
import { type ResolvedRouter, resolveRouters } from '../config/resolve.ts'
import type { NetworkPort } from '../daemon/ports.ts'
import type { Recorder } from '../daemon/telemetry/recorder.ts'
import { type AnyConfig, type KeepalivedReading, loadAny } from '../files/configuration-language.ts'
import { unusableSocket } from '../files/private-socket.ts'
import { judgeScripts } from '../files/script-problem.ts'
import { unusableFolder } from '../files/socket-folder.ts'
import { type CompatibilityOptions, wasStopped } from '../keepalived/compatibility-layer.ts'
import { type KernelClock, openClock } from '../linux/clock.ts'
import type { Guardian } from '../linux/guardian/guardian.ts'
import type { Credentials, Exit, NativeAddon } from '../linux/native.ts'
import { openNetwork } from '../linux/network.ts'
import { type NodeLock, takeNodeLock } from '../linux/node-lock.ts'
import { loadRawSocketPackage, type RawSocketPackage } from '../linux/sockets/raw-socket-package.ts'
import { LOG } from '../log/log.ts'
import { idle } from './configuration/configuration-account.ts'
import { Memory } from './configuration/managed.ts'
import type { EventJournal } from './event-journal.ts'
import { EXIT } from './exit-code.ts'
import { capabilityProblem } from './machine/capability.ts'
import { lookOnce, nodeView } from './machine/node.ts'
import { lockedText, type VrrpBeside, vrrpBeside } from './machine/vrrp-beside.ts'
import type { RecordOrder, Taping } from './taping.ts'
import { type Workers, workersFor } from './worker-thread.ts'

export type RunOptions = {
  /** True if the daemon runs even beside a keepalived. */
  readonly force: boolean
  /** True if a core dump of the process is allowed. */
  readonly core: boolean
  /**
   * Options for a keepalived configuration file, if programs around the daemon expect a keepalived; absent otherwise.
   */
  readonly keepalived?: KeepalivedOptions
  /** Settings of an engine to which a program hands the configuration over; absent if the engine reads a file. */
  readonly managed?: NodeSettings
  /** Order to record the inputs and outputs of the engine; `undefined`: no recording. */
  readonly record?: RecordOrder | undefined
}

export type KeepalivedOptions = CompatibilityOptions & {
  readonly reading: KeepalivedReading
  /** Log lines about flags on the command line. */
  readonly warnings: readonly string[]
}

/** The configuration file, the options, and objects that exist before anything is read. */
export type StartOrder = {
  readonly file: string
  readonly options: RunOptions
  readonly recorder: Recorder
  readonly tapes: Taping
  readonly guardian: Guardian
  readonly native: NativeAddon & Credentials & Exit
  /** True if a service manager (systemd) reads the guardian's messages. */
  readonly hasManager: boolean
  /** Event journal of this node. The journal's file is not open yet. */
  readonly journal: EventJournal
}

/** A refused start: lines for standard error, and the exit status. */
export type Refusal = { readonly exitCode: number; readonly lines: readonly string[] }

type Read = {
  readonly parsed: Extract<AnyConfig, { readonly config: Config }>
  /**
   * Configuration that the file contains; without routers if keepalived's command socket stopped an earlier run of the
   * daemon.
   */
  readonly config: Config
  readonly isStopped: boolean
  readonly memory: Memory | undefined
}

type Judged = {
  readonly config: Config
  readonly raw: RawSocketPackage | undefined
  /** Problems of the programs that checks and notifications run. */
  readonly problems: readonly Problem[]
}

/** The lock that makes this daemon the only one of its network namespace. */
type Claim = { readonly lock: Extract<NodeLock, { readonly taken: true }>; readonly beside: VrrpBeside }

type Placed = {
  readonly config: Config
  readonly clock: KernelClock
  /**
   * Network port that answers the engine's first queries with the kernel tables that were used to check the
   * configuration.
   */
  readonly network: NetworkPort
  /** Routers of `config`, resolved with the kernel tables of the check; `undefined`: the engine resolves them. */
  readonly routers: readonly ResolvedRouter[] | undefined
  readonly problems: readonly Problem[]
}

/** All values from which compose.ts makes a daemon. */
export type Start = Pick<Read, 'isStopped' | 'memory'> &
  Pick<Judged, 'raw'> &
  Claim &
  Pick<Placed, 'config' | 'clock' | 'network' | 'routers'> & {
    readonly file: string
    readonly parsed: Pick<Read['parsed'], 'hash' | 'imported'>
    readonly workers: Workers
    readonly warnings: readonly Problem[]
  }

export async function start(order: StartOrder): Promise<Start | Refusal> {
  const { file, guardian, native, options, recorder } = order
  const read = readConfiguration(order)
  if ('exitCode' in read) return read
  const { isStopped, memory, parsed } = read
  const { locate } = parsed
  const workers = workersFor(read.config, recorder)
  const judged = await judge(read)
  if ('exitCode' in judged) return judged
  if (!options.core) native.forbidDumps()
  const claim = await claimNode(judged.config, locate, { native, guarded: guardian.armed, force: options.force })
  if ('exitCode' in claim) return claim
  const placed = place(judged.config, read, order)
  if ('exitCode' in placed) return placed
  const { clock, config, network, routers } = placed
  const warnings = [...parsed.warnings, ...judged.problems, ...placed.problems].filter((each) => !isError(each))
  const { raw } = judged
  return { file, parsed, isStopped, memory, workers, raw, ...claim, clock, config, network, routers, warnings }
}

/** Reads the configuration and judges its text alone. */
export function readConfiguration({
  file,
  options: { keepalived, managed },
}: Pick<StartOrder, 'file' | 'options'>): Read | Refusal {
  const memory = managed && new Memory(file, managed)
  const parsed = memory?.read() ?? loadAny(file, keepalived?.reading)
  if ('problems' in parsed) return refuse(parsed.problems)
  const isStopped = wasStopped(keepalived?.socket)
  return { parsed, config: isStopped ? idle(parsed.config) : parsed.config, isStopped, memory }
}

/** Tests the configuration without the kernel's tables: programs, capabilities, run directory, optional package. */
export async function judge({ config: read, memory, parsed }: Read): Promise<Judged | Refusal> {
  const { locate } = parsed
  const { config, problems } = await judgeScripts(read, locate)
  if (memory === undefined && problems.some(isError)) return refuse([...parsed.warnings, ...problems])
  const missing = capabilityProblem()
  if (missing !== undefined) return { exitCode: EXIT.privilege, lines: [`holdfast: ${missing}`] }
  // A daemon without a socket would fail its liveness probe and be restarted again and again, each time with a move of
  // the VIPs.
  const unusable = unusableFolder(config.runDirectory)
  if (unusable !== undefined) return refuse([problemAt(locate, ['runDirectory'], 'error', unusable)])
  const found = config.io === 'raw-socket' ? rawSockets() : undefined
  if (typeof found !== 'string') {
    const settled = memory?.judge(config, problems) ?? config
    return { config: settled, raw: settled.io === 'raw-socket' ? found : undefined, problems }
  }
  // A restart does not install a package, so this counts as a configuration error.
  if (memory === undefined) return { exitCode: EXIT.configuration, lines: [`holdfast: ${found}`] }
  const withPackage = [...problems, problemAt(locate, ['io'], 'error', found)]
  return { config: memory.judge(config, withPackage), raw: undefined, problems }
}

type ClaimOptions = {
  readonly native: NativeAddon
  /** Whether the parent process is the guardian, whose sockets belong to this daemon. */
  readonly guarded: boolean
  readonly force: boolean
}

/**
 * Makes this daemon the only one of its network namespace. Two daemons of one node would discard each other's
 * advertisements as their own, and both would be Active. The lock is taken before any change in the kernel: a second
 * daemon must not sweep the addresses of the first.
 */
async function claimNode(config: Config, locate: Locate, options: ClaimOptions): Promise<Claim | Refusal> {
  const lock = takeNodeLock(options.native)
  if (!lock.taken) return { exitCode: EXIT.failure, lines: [`holdfast: ${lockedText(lock.by)}`] }
  const beside = vrrpBeside(options.guarded)
  if (beside.refusal !== undefined && !options.force)
    return { exitCode: EXIT.failure, lines: [`holdfast: ${beside.refusal}`] }
  // This line follows the lock: a socket that does not answer is stale only if this daemon has the lock.
  const blocked = await unusableSocket(config.api.socket)
  if (blocked !== undefined) return refuse([problemAt(locate, ['api', 'socket'], 'error', blocked)])
  return { lock, beside }
}

/** Checks the configuration against the interfaces and addresses of this node. */
export function place(
  judged: Config,
  { memory, parsed }: Read,
  { native, recorder }: Pick<StartOrder, 'native' | 'recorder'>,
): Placed | Refusal {
  const clock = openClock(native)
  const opened = openNetwork(native, clock, (message) => recorder.log(LOG.promoteSecondariesNotSet, message))
  const { isComplete, network, tables } = lookOnce(opened)
  const { config, problems, routers } = resolveRouters(judged, nodeView(tables, judged), parsed.locate)
  if (memory === undefined && problems.some(isError)) {
    network.close()
    return refuse([...parsed.warnings, ...problems])
  }
  const settled = memory?.judge(config, problems) ?? config
  // The list belongs to `judged`, and is right only if the kernel gave complete tables.
  return { config: settled, clock, network, routers: isComplete && settled === judged ? routers : undefined, problems }
}

const refuse = (problems: readonly Problem[]): Refusal => ({
  exitCode: EXIT.configuration,
  lines: problems.map(formatProblem),
})

/** Returns the package, or a text if it is not installed or not built. */
function rawSockets(): RawSocketPackage | string {
  try {
    return loadRawSocketPackage()
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_RAW_SOCKET') return error.message
    throw error
  }
}
