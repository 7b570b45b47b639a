/**
 * Asks by running a program: never a shell, a process group and session of its own, little in its environment. Decided
 * here: exit status 0 is the only success; at the deadline the whole group is told to end and after GRACE made to, and
 * whatever a program leaves behind in its group ends with it (VR-TRK-07). Refuses to know when it is asked, and which
 * files may be run (script-safety.ts).
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { type Millis, millis } from '../wire/units.ts'
import type { ExecSpec } from './check.ts'
import { codeOf, isOurs } from './failed-probe.ts'
import { monotonicNow, type Probe, type ProbeRun } from './probe.ts'
import type { ProbeResult, Reason } from './probe-result.ts'
import { unsafeBecause } from './script-safety.ts'
import { type User, userNamed } from './user.ts'

/** From SIGTERM to SIGKILL. */
const GRACE = 2_000
/** Kept for the log; the rest is read and forgotten, so that a program that talks is not held up. */
const OUTPUT_KEPT = 1_024
const OUTPUT_LIMIT = 1_048_576
/** After the end of the program its output is complete, unless somebody who left its group holds the pipe. */
const OUTPUT_WAIT = 50
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** Process groups under way, told to whoever must end them when this thread cannot. */
export type GroupListener = {
  readonly started: (group: number) => void
  readonly ended: (group: number) => void
}

type Ending = { readonly code: number | null; readonly signal: NodeJS.Signals | null }

export function execProbe(spec: ExecSpec, groups: GroupListener): Probe {
  return { start: (signal) => startRun(spec, groups, signal), events: undefined }
}

function startRun(spec: ExecSpec, groups: GroupListener, signal: AbortSignal): ProbeRun {
  const startedAt = monotonicNow()
  let tell: (result: ProbeResult) => void = () => {}
  const result = new Promise<ProbeResult>((resolve) => {
    tell = resolve
  })
  const say = (outcome: ProbeResult['outcome'], reason: Reason, detail: string) =>
    tell({ outcome, reason, detail, latency: since(startedAt) })
  let group: number | undefined
  const watched: GroupListener = {
    started: (each) => {
      group = each
      groups.started(each)
    },
    ended: (each) => {
      group = undefined
      groups.ended(each)
    },
  }
  const ended = run(spec, watched, signal, say).catch((error: unknown) =>
    say('fail', 'notRunnable', `Cannot run ${spec.argv[0]}: ${error instanceof Error ? error.message : error}`),
  )
  return { result, ended, abandon: () => group !== undefined && killGroup(group, 'SIGKILL') }
}

type Say = (outcome: ProbeResult['outcome'], reason: Reason, detail: string) => void

/** Settles when nothing is left of the program. */
async function run(spec: ExecSpec, groups: GroupListener, signal: AbortSignal, say: Say): Promise<void> {
  const [program] = spec.argv
  const user = spec.user === undefined ? undefined : await userNamed(spec.user)
  if (user === 'missing') return say('unknown', 'userNotPermitted', `There is no user "${spec.user}" on this node`)
  const unsafe = await unsafeBecause(program, user?.uid)
  if (unsafe !== undefined) return say('fail', unsafe.reason, unsafe.detail)
  if (signal.aborted) return say('fail', 'timeout', `${program} was not started in time`)
  const started = await start(spec, user)
  if (typeof started === 'string') {
    if (user !== undefined && started === 'EPERM') {
      return say('unknown', 'userNotPermitted', `Cannot run ${program} as "${spec.user}": CAP_SETUID is missing`)
    }
    if (isOurs(started)) return say('unknown', 'notPossible', `Cannot run ${program}: ${started}`)
    return say('fail', 'notRunnable', `Cannot run ${program}: ${started}`)
  }
  const { child, group } = started
  groups.started(group)
  try {
    await watch(child, group, program, signal, say)
  } finally {
    groups.ended(group)
  }
}

/** The code of the error when it does not start: Node throws some of them and tells others later. */
async function start(spec: ExecSpec, user: User | undefined): Promise<{ child: ChildProcess; group: number } | string> {
  const [program, ...args] = spec.argv
  try {
    const child = spawn(program, args, {
      cwd: '/',
      detached: true,
      env: { PATH, ...spec.environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      // libuv drops the supplementary groups along with them.
      ...(user === undefined ? {} : { uid: user.uid, gid: user.gid }),
    })
    if (child.pid !== undefined) return { child, group: child.pid }
    return await new Promise<string>((resolve) => child.once('error', (error) => resolve(codeOf(error))))
  } catch (error) {
    return codeOf(error)
  }
}

async function watch(child: ChildProcess, group: number, program: string, signal: AbortSignal, say: Say) {
  const output = new Output(child, () => killGroup(group, 'SIGKILL'))
  let killer: NodeJS.Timeout | undefined
  const onDeadline = () => {
    say('fail', 'timeout', `${program} did not end in time${output.said()}`)
    killGroup(group, 'SIGTERM')
    killer = setTimeout(() => killGroup(group, 'SIGKILL'), GRACE)
  }
  const exited = new Promise<Ending>((resolve) => child.once('exit', (code, by) => resolve({ code, signal: by })))
  // Errors after the start (a kill that failed) change nothing about the exit that is waited for.
  child.on('error', () => {})
  if (signal.aborted) onDeadline()
  else signal.addEventListener('abort', onDeadline, { once: true })
  const ending = await exited
  signal.removeEventListener('abort', onDeadline)
  clearTimeout(killer)
  // Its leader is gone, and nobody else of the group was asked to stay: grandchildren that ignored SIGTERM among them.
  killGroup(group, 'SIGKILL')
  await output.complete()
  if (output.exceeded) say('fail', 'badAnswer', `${program} wrote more than ${OUTPUT_LIMIT} bytes${output.said()}`)
  else if (ending.signal !== null) say('fail', 'killedBySignal', `${program} ended by ${ending.signal}${output.said()}`)
  else if (ending.code !== 0) say('fail', 'exitStatus', `${program} ended with ${ending.code}${output.said()}`)
  else say('ok', 'ok', `${program} ended with 0`)
}

/** The first words of a program, of both its outputs. */
class Output {
  readonly #child: ChildProcess
  #kept = ''
  #bytes = 0
  #open = 2
  #onEnd: (() => void) | undefined

  constructor(child: ChildProcess, onTooMuch: () => void) {
    this.#child = child
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8')
      stream?.on('data', (text: string) => {
        this.#bytes += text.length
        if (this.#kept.length < OUTPUT_KEPT) this.#kept = (this.#kept + text).slice(0, OUTPUT_KEPT)
        if (this.exceeded) onTooMuch()
      })
      stream?.on('error', () => {})
      stream?.once('close', () => {
        this.#open--
        if (this.#open === 0) this.#onEnd?.()
      })
    }
  }

  get exceeded(): boolean {
    return this.#bytes > OUTPUT_LIMIT
  }

  said(): string {
    const text = this.#kept.trim()
    return text === '' ? '' : `: ${text}`
  }

  complete(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#open === 0) {
        resolve()
        return
      }
      const late = setTimeout(() => {
        this.#child.stdout?.destroy()
        this.#child.stderr?.destroy()
        resolve()
      }, OUTPUT_WAIT)
      this.#onEnd = () => {
        clearTimeout(late)
        resolve()
      }
    })
  }
}

/** Nobody is left in it: that is what was wanted. */
export function killGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-group, signal)
  } catch (error) {
    if (codeOf(error) !== 'ESRCH' && codeOf(error) !== 'EPERM') throw error
  }
}

const since = (startedAt: Millis): Millis => millis(monotonicNow() - startedAt)
