/**
 * `holdfast run`: the stages of a daemon, one after another. `start.ts` checks and may refuse, compose.ts makes the
 * engine, facilities.ts opens log, journal and listeners, shut-down.ts ends the daemon. This file decides the order of
 * the stages, and what the log contains at the start.
 */
import { hostname } from 'node:os'
import type { Config } from '../config/config.ts'
import { formatProblem } from '../config/problem.ts'
import { leaseOf, leaseText } from '../daemon/guard/lease.ts'
import type { Recorder } from '../daemon/telemetry/recorder.ts'
import { inheritClock } from '../linux/guardian/clock.ts'
import { type Guardian, openGuardian } from '../linux/guardian/guardian.ts'
import type { GuardianFault } from '../linux/guardian/guardian-channel.ts'
import { openGuardianWords } from '../linux/guardian/guardian-words.ts'
import { readInheritance } from '../linux/guardian/restart.ts'
import { loadNative, type NativeAddon } from '../linux/native.ts'
import { LIMITS } from '../linux/sockets/raw-socket-backend.ts'
import { LOG } from '../log/log.ts'
import { atOtherLevel } from '../log/log-event.ts'
import { compose, type EngineProcess } from './compose.ts'
import { untilCrashed } from './crash.ts'
import { EventJournal } from './event-journal.ts'
import { openFacilities } from './facilities.ts'
import { schedulingHere, schedulingText } from './machine/scheduling.ts'
import { limitExit, shutDown } from './shut-down.ts'
import { listenToSignals } from './signals.ts'
import { type RunOptions, type Start, type StartOrder, start } from './start.ts'
import { taping } from './taping.ts'
import { VERSION } from './version.ts'

/** Runs the daemon, or its dry run before an upgrade. Returns the exit status when the daemon has stopped, was refused, or has crashed. */
export async function runCommand(file: string, options: RunOptions): Promise<number> {
  if (process.env.HOLDFAST_GUARDIAN_REHEARSAL !== undefined)
    return (await import('./upgrade-rehearsal.ts')).rehearseUpgrade(file, options)
  const tapes = await taping(options.record)
  const { recorder } = tapes
  const native = loadNative()
  const { guardian, hasManager } = inherit(native, recorder)
  const journal = new EventJournal(recorder)
  const crashed = untilCrashed(
    () => guardian.release(),
    (error) => {
      try {
        journal.crashed(error)
      } finally {
        tapes.writeNow()
      }
    },
    () => guardian.restart?.isKept === true,
  )
  try {
    return await Promise.race([
      crashed.then((status) => limitExit(native, status)),
      stages({ file, options, recorder, tapes, guardian, native, hasManager, journal }),
    ])
  } finally {
    guardian.release()
  }
}

async function stages(order: StartOrder): Promise<number> {
  const begun = await start(order)
  if ('exitCode' in begun) {
    for (const line of begun.lines) process.stderr.write(`${line}\n`)
    return begun.exitCode
  }
  const engine = compose(begun, order)
  begin(engine)
  logStart(engine, begun, order.options)
  const facilities = await openFacilities(engine, begun.memory)
  await engine.departure.left
  return shutDown(engine, facilities, order.native)
}

/** Takes the guardian's descriptors from the environment, because no child process may inherit them. */
function inherit(native: NativeAddon, recorder: Recorder): { guardian: Guardian; hasManager: boolean } {
  const { HOLDFAST_GUARDIAN_FD: channel, HOLDFAST_GUARDIAN_WORDS: memory, HOLDFAST_GUARDIAN_CLOCK: clock } = process.env
  const inherited = readInheritance(process.env.HOLDFAST_GUARDIAN_SNAPSHOT)
  // The guardian sets this variable if a service manager reads its messages.
  const hasManager = process.env.HOLDFAST_SERVICE_MANAGER !== undefined
  delete process.env.HOLDFAST_GUARDIAN_FD
  delete process.env.HOLDFAST_GUARDIAN_WORDS
  delete process.env.HOLDFAST_GUARDIAN_CLOCK
  delete process.env.HOLDFAST_GUARDIAN_SNAPSHOT
  delete process.env.HOLDFAST_SERVICE_MANAGER
  const onFault = ({ event, message, ...fields }: GuardianFault) => recorder.log(LOG[event], message, fields)
  const words = openGuardianWords(native, memory, onFault)
  return {
    guardian: openGuardian(kept(native, channel), onFault, words, native, inheritClock(native, clock), inherited),
    hasManager,
  }
}

/** Returns a descriptor that no child process inherits. The kernel closes it early when this process dies. */
function kept(native: NativeAddon, channel: string | undefined): string | undefined {
  if (channel === undefined || !/^\d+$/.test(channel)) return channel
  try {
    return String(native.keepLast(Number(channel)))
  } catch {
    // The value in the environment is no descriptor, which openGuardian() reports.
    return channel
  }
}

/** Starts the engine of the daemon. */
function begin(engine: EngineProcess): void {
  const { compatibility, config, daemon, departure, file, guardian, orders, recorder, reload } = engine
  listenToSignals(daemon, recorder, {
    leave: (trigger) => departure.leave(trigger),
    reload: (trigger) => void reload(trigger),
    dump: compatibility && ((kind) => compatibility.dump(kind)),
  })
  guardian.ready()
  recorder.chronicle.record({
    ...{ kind: 'started', pid: process.pid, hostname: hostname(), version: VERSION, config: file },
    guardian: guardian.armed,
  })
  if (config.log.format !== undefined) guardian.setLogFormat(config.log.format)
  orders.start()
}

/** Logs why `lease: on` has no effect, or not for each router: now, and after a reload if the sentence has changed. */
function logLease({ config, guardian, live, recorder }: EngineProcess): void {
  let logged: string | undefined
  const look = (inForce: Config): void => {
    const text = leaseText(leaseOf({ ...inForce, io: config.io }, guardian))
    if (text !== undefined && text !== logged) recorder.log(LOG.leaseNotInForce, text)
    logged = text
  }
  look(config)
  live.onApplied(look)
}

function logStart(
  engine: EngineProcess,
  { beside, isStopped, memory, raw, warnings }: Start,
  { keepalived }: RunOptions,
): void {
  const { config, file, guardian, guardianPid, recorder } = engine
  recorder.log(LOG.started, `holdfast ${VERSION} runs with ${config.virtualRouters.length} virtual routers`, {
    version: VERSION,
    config: file,
    guardian: guardian.armed,
  })
  const scheduling = schedulingHere(guardianPid)
  const line = schedulingText(scheduling)
  if (line !== undefined) recorder.log(atOtherLevel(LOG.scheduling, !line.isWhole), line.message, { scheduling })
  if (isStopped)
    recorder.log(
      LOG.idleAfterStop,
      `Stopped over keepalived's socket in an earlier run: no virtual router runs until a reload`,
    )
  for (const warning of keepalived?.warnings ?? []) recorder.log(LOG.keepalivedFlag, warning)
  for (const problem of warnings) recorder.log(LOG.configurationProblem, formatProblem(problem))
  memory?.report(recorder)
  if (raw !== undefined) for (const limit of LIMITS) recorder.log(LOG.ioLimit, `io: raw-socket: ${limit}`, { limit })
  for (const warning of beside.warnings) recorder.log(LOG.vrrpBeside, warning, { processes: beside.processes })
  logLease(engine)
  if (!guardian.armed)
    recorder.log(
      LOG.noGuardian,
      'No guardian: if this engine dies, its addresses stay on this node (start holdfast with bin/holdfast)',
    )
  else if (!guardian.guarded)
    recorder.log(
      LOG.guardianWithoutDeadlines,
      'The guardian checks no deadlines and renews no lifetimes: a frozen engine keeps its addresses',
    )
}
