/**
 * `holdfast doctor`: examines this machine, its networks and the configuration, and reports problems, the smallest safe
 * interval, and what to do. This file decides what is examined without a configuration, for how long, and the exit
 * status. The doctor is harmless beside a running daemon: it sends no advertisement, changes no address and answers no
 * question (docs/adr/0037). Findings are judged in src/doctor.
 */

import { hostname } from 'node:os'
import { EXIT } from '../../app/exit-code.ts'
import { missingCapabilities } from '../../app/machine/capability.ts'
import { nodeView } from '../../app/machine/node.ts'
import { VERSION } from '../../app/version.ts'
import { refusedValue } from '../../base/refused-value.ts'
import type { Config } from '../../config/config.ts'
import { formatProblem } from '../../config/problem.ts'
import { resolveRouters } from '../../config/resolve.ts'
import { parseDuration } from '../../config/schema/duration.ts'
import type { NetworkPort, SocketPort } from '../../daemon/ports.ts'
import { diagnose } from '../../doctor/diagnosis.ts'
import { type Level, worst } from '../../doctor/finding.ts'
import type { Measured, PlannedRouter } from '../../doctor/measurement.ts'
import { doctorReport, formatReport } from '../../doctor/report.ts'
import { openClock } from '../../linux/clock.ts'
import { type Credentials, loadNative, type NativeAddon } from '../../linux/native.ts'
import { openNetwork } from '../../linux/network.ts'
import { vrrpSocketHolders } from '../../linux/process/vrrp-socket-holder.ts'
import { openReversePath, type ReversePath } from '../../linux/reverse-path.ts'
import { openSockets } from '../../linux/sockets/sockets.ts'
import { loadWritten } from '../check.ts'
import type { CommandResult } from '../command.ts'
import { runningDaemon } from './doctor-daemon.ts'
import { LanExamination } from './doctor-lan.ts'
import { machineState, mayRealtime, readMeter } from './doctor-machine.ts'
import { plannedRouter } from './doctor-plan.ts'
import { measureTimers } from './doctor-timer.ts'

export type DoctorOptions = {
  readonly file: string | undefined
  readonly keepalived: boolean
  readonly interfaces: readonly string[]
  /** Path of the daemon's control socket. */
  readonly socket: string
  readonly json: boolean
  /** True if findings of level `ok` are printed, too. */
  readonly verbose: boolean
  /** Duration of the examination as typed by the user. */
  readonly duration: string | undefined
}

/**
 * Milliseconds of the examination: three intervals of a router that advertises once a second, with room for the fourth.
 */
const USUAL_DURATION = 5_000
const LEAST_DURATION = 1_000
const MOST_DURATION = 3_600_000
/** Number of intervals for which the doctor listens, so that a late third advertisement is still received. */
const INTERVALS = 3.2
/**
 * Longest duration that the doctor chooses without --duration, in milliseconds. For longer intervals, the report says
 * what was missed.
 */
const LONGEST_UNASKED = 30_000

const STATUS: Readonly<Record<Level, number>> = {
  ok: EXIT.ok,
  note: EXIT.ok,
  warning: EXIT.warnings,
  error: EXIT.errors,
}

export async function doctorCommand(options: DoctorOptions): Promise<CommandResult> {
  const wanted = options.duration === undefined ? undefined : parseDuration(options.duration)
  if (options.duration !== undefined && (wanted === undefined || wanted < LEAST_DURATION || wanted > MOST_DURATION)) {
    const stderr = `holdfast: ${refusedValue('--duration', options.duration, 'a duration from 1s to 1h')}\n`
    return { exitCode: EXIT.usage, stdout: '', stderr }
  }
  const read = options.file === undefined ? undefined : loadWritten(options.file, options.keepalived)
  if (read !== undefined && 'problems' in read) {
    const stderr = read.problems.map((problem) => `${formatProblem(problem)}\n`).join('')
    return { exitCode: EXIT.configuration, stdout: '', stderr }
  }
  const takenAt = new Date().toISOString()
  const native = loadNative()
  const clock = openClock(native)
  const network = openNetwork(native, clock)
  const reversePath = openReversePath(native, clock)
  try {
    const known = network.links()?.map(({ name }) => name) ?? []
    const unknown = options.interfaces.filter((name) => !known.includes(name))
    if (unknown.length > 0) {
      const stderr = `holdfast: Cannot examine "${unknown.join('", "')}": interface does not exist\n`
      return { exitCode: EXIT.failure, stdout: '', stderr }
    }
    const routers = read === undefined ? [] : plan(read.config, network)
    const durationMs = wanted ?? usualDuration(routers)
    const sockets = openSockets(native, clock)
    const { interfaces, socket } = options
    const measured = await examine({ native, network, sockets, reversePath, routers, durationMs, interfaces, socket })
    const findings = diagnose(measured)
    const report = doctorReport(measured, findings, { version: VERSION, host: hostname(), takenAt })
    const stdout = options.json ? `${JSON.stringify(report, null, 2)}\n` : formatReport(report, options.verbose)
    return { exitCode: STATUS[worst(findings)], stdout, stderr: '' }
  } finally {
    reversePath.close()
    network.close()
  }
}

const plan = (config: Config, network: NetworkPort): readonly PlannedRouter[] =>
  resolveRouters(config, nodeView(network, config)).routers.map(plannedRouter)

function usualDuration(routers: readonly PlannedRouter[]): number {
  const longest = Math.max(0, ...routers.map(({ intervalMs }) => intervalMs))
  return Math.min(LONGEST_UNASKED, Math.max(USUAL_DURATION, INTERVALS * longest))
}

type Subject = {
  readonly native: NativeAddon & Credentials
  readonly network: NetworkPort
  readonly sockets: SocketPort
  readonly reversePath: ReversePath
  readonly routers: readonly PlannedRouter[]
  readonly durationMs: number
  readonly interfaces: readonly string[]
  readonly socket: string
}

async function examine(subject: Subject): Promise<Measured> {
  const { durationMs, interfaces, native, network, reversePath, routers, sockets } = subject
  const links = network.links() ?? []
  const addresses = network.addresses() ?? []
  const named = routers.flatMap(({ held, interface: on }) => [on, ...held.map((one) => one.interface)])
  const looked = new Set([...interfaces, ...named])
  const beside = vrrpSocketHolders([process.pid])
  const shared = beside.holders.length + beside.closed.length + beside.unseen > 0
  const missing = missingCapabilities()
  const obstacle = missing.includes('CAP_NET_RAW') ? 'this command lacks CAP_NET_RAW; run it as root' : undefined
  const daemon = await runningDaemon(native, subject.socket)
  const before = readMeter()
  const lans = links
    .filter(({ name }) => looked.has(name))
    .map((link) => {
      const options = { native, sockets, reversePath, link, links, addresses, routers, shared, obstacle }
      return new LanExamination(options, durationMs)
    })
  const startedAt = performance.now()
  const realtime = mayRealtime() ? undefined : 'CAP_SYS_NICE is missing, and RLIMIT_RTPRIO allows none'
  const timers = await measureTimers(durationMs, realtime)
  const forMs = Math.round(performance.now() - startedAt)
  const machine = machineState(native, daemon, { before, after: readMeter(), durationMs: forMs })
  return { durationMs: forMs, timers, machine, lans: lans.map((lan) => lan.end(forMs)), routers }
}
