/**
 * Runs programs with the help of a launcher: without a shell, in their own session, with few environment variables.
 * This file decides that exit status 0 is the only success. At the deadline the process group gets SIGTERM, and after
 * GRACE every remaining process gets SIGKILL (VR-TRK-07). A launcher (docs/adr/0026) already runs as the configured
 * user, has no privileges unless the configuration keeps them, and can run no other program. `launched-programs.ts`
 * does not know when and why programs run, and which files are safe (script-safety.ts).
 */

import { constants } from 'node:os'
import type { Duplex } from 'node:stream'
import { getSystemErrorName } from 'node:util'
import { messageOf } from '../../base/message-of.ts'
import { type Millis, millis } from '../../wire/units.ts'
import type { Cutoff } from '../cutoff.ts'
import { disks } from '../disk-queue.ts'
import { isOurs } from '../failed-probe.ts'
import { monotonicNow, type ProbeRun } from '../probe.ts'
import type { ProbeResult, Reason } from '../probe-result.ts'
import { type LauncherAnswer, LauncherChannel } from './launcher-channel.ts'
import type { ProgramSet, WantedRun } from './program-set.ts'
import { unsafeBecause } from './script-safety.ts'
import { userNamed } from './user.ts'

/** Milliseconds from SIGTERM to SIGKILL for a program that does not end. */
const GRACE = 2_000
/**
 * Milliseconds to wait for the first launcher, on a node that may be booting. After this time the run of the check
 * reports a problem.
 */
const LAUNCH_WAIT = 5_000
/** Milliseconds for which the launcher may still pass on the last output of a program. */
const LAST_WORDS = 50

export type Refusal = { readonly reason: Extract<Reason, 'notPossible' | 'userNotPermitted'>; readonly detail: string }

/** Starts a launcher for these programs only. Never rejects; a refusal is a value. */
export type Launch = (set: ProgramSet) => Promise<Duplex | Refusal>

type Say = (outcome: ProbeResult['outcome'], reason: Reason, detail: string) => void

const FIRST: WantedRun = { index: 0, number: undefined }

/** Runs the programs of one launcher, one run at a time. */
export class LaunchedPrograms {
  readonly #set: ProgramSet
  readonly #launch: Launch
  #opening: Promise<LauncherChannel | Refusal> | undefined
  #channel: LauncherChannel | undefined
  #closed = false

  constructor(set: ProgramSet, launch: Launch) {
    this.#set = set
    this.#launch = launch
  }

  async prepare(): Promise<void> {
    await this.#open(AbortSignal.timeout(LAUNCH_WAIT))
  }

  start(signal: Cutoff, wanted: WantedRun = FIRST): ProbeRun {
    const startedAt = monotonicNow()
    let tell: (result: ProbeResult) => void = () => {}
    const result = new Promise<ProbeResult>((resolve) => {
      tell = resolve
    })
    const say: Say = (outcome, reason, detail) => tell({ outcome, reason, detail, latency: since(startedAt) })
    const ended = this.#run(wanted, signal, say).catch((error: unknown) =>
      say('fail', 'notRunnable', `Cannot run ${this.#path(wanted)}: ${messageOf(error)}`),
    )
    return { result, ended, abandon: () => this.#channel?.kill() }
  }

  close(): void {
    this.#closed = true
    this.#channel?.close()
  }

  #path({ index }: WantedRun): string {
    return this.#set.programs[index]?.argv[0] ?? `program ${index}`
  }

  /** Runs a program. Resolves when no process of this run is left. */
  async #run(wanted: WantedRun, signal: Cutoff, say: Say): Promise<void> {
    const program = this.#path(wanted)
    const late = () => say('fail', 'timeout', `${program} was not started in time`)
    // The disk with the program may not answer. The run of the check then lasts as long.
    signal.addEventListener('abort', late, { once: true })
    const { user: name } = this.#set
    const user = name === undefined ? undefined : await userNamed(name)
    if (user === 'missing') return say('unknown', 'userNotPermitted', `User "${name}" does not exist on this node`)
    if (signal.aborted) return late()
    const unsafe = await disks.ask(program, () => unsafeBecause(program, user?.uid), signal)
    if (unsafe?.reason === 'notRunnable') return say('fail', unsafe.reason, unsafe.detail)
    // The program was safe when the configuration was read, but other users can change it now. keepalived checks a
    // program only when it reads the configuration, and would run it.
    if (unsafe !== undefined && this.#set.unsafe !== 'run')
      return say(this.#set.unsafe === 'skip' ? 'unknown' : 'fail', unsafe.reason, unsafe.detail)
    signal.removeEventListener('abort', late)
    if (signal.aborted) return late()
    const channel = await this.#open(signal)
    if (!(channel instanceof LauncherChannel)) return say('unknown', channel.reason, channel.detail)
    if (signal.aborted) return late()
    judge(program, await this.#ending(channel, wanted, signal, say), say)
  }

  /**
   * Returns the channel to the launcher. If the launcher has ended, starts a new launcher. Stops waiting at the
   * deadline of `signal`.
   */
  async #open(signal: Cutoff): Promise<LauncherChannel | Refusal> {
    if (this.#channel?.open === true) return this.#channel
    this.#opening ??= this.#openNew().finally(() => {
      this.#opening = undefined
    })
    const detail = `Cannot run ${this.#path(FIRST)}: its launcher did not start in time`
    const late = new Promise<Refusal>((resolve) => {
      const giveUp = () => resolve({ reason: 'notPossible', detail })
      if (signal.aborted) giveUp()
      else signal.addEventListener('abort', giveUp, { once: true })
    })
    return await Promise.race([this.#opening, late])
  }

  async #openNew(): Promise<LauncherChannel | Refusal> {
    const stream = await this.#launch(this.#set)
    if ('reason' in stream) return stream
    const channel = new LauncherChannel(stream)
    this.#channel = channel
    if (this.#closed) channel.close()
    const { kind, value } = await new Promise<LauncherAnswer>((resolve) => {
      channel.onAnswer = resolve
    })
    if (kind === 'ready') return channel
    channel.close()
    const { user } = this.#set
    const program = this.#path(FIRST)
    const code = kind === 'refused' ? nameOf(value) : 'its launcher ended'
    if (user !== undefined && code === 'EPERM') {
      const detail = `Cannot run ${program} as "${user}": CAP_SETUID and CAP_SETGID are missing`
      return { reason: 'userNotPermitted', detail }
    }
    return { reason: 'notPossible', detail: `Cannot run ${program}: ${code}` }
  }

  #ending(channel: LauncherChannel, wanted: WantedRun, signal: Cutoff, say: Say): Promise<LauncherAnswer> {
    const program = this.#path(wanted)
    return new Promise((resolve) => {
      let killer: NodeJS.Timeout | undefined
      let speechless: NodeJS.Timeout | undefined
      const late = (output: string) => say('fail', 'timeout', `${program} did not end in time${said(output)}`)
      const onDeadline = () => {
        channel.terminate()
        speechless = setTimeout(() => late(''), LAST_WORDS)
        killer = setTimeout(() => channel.kill(), GRACE)
      }
      channel.onAnswer = (answer) => {
        if (answer.kind === 'ready' || answer.kind === 'refused') return
        if (signal.aborted) late(answer.output)
        if (answer.kind === 'toldToEnd') return
        signal.removeEventListener('abort', onDeadline)
        clearTimeout(killer)
        clearTimeout(speechless)
        channel.onAnswer = () => {}
        resolve(answer)
      }
      signal.addEventListener('abort', onDeadline, { once: true })
      channel.run(wanted)
    })
  }
}

/**
 * Reports the result of a program that has ended. If the program ended after its deadline, the result (a timeout) is
 * already reported.
 */
function judge(program: string, { kind, value, exceeded, output }: LauncherAnswer, say: Say): void {
  if (kind === 'lost') say('unknown', 'notPossible', `Cannot run ${program}: its launcher ended`)
  else if (kind === 'notStarted') {
    const code = nameOf(value)
    if (isOurs(code)) say('unknown', 'notPossible', `Cannot run ${program}: ${code}`)
    else say('fail', 'notRunnable', `Cannot run ${program}: ${code}`)
  } else if (exceeded) say('fail', 'badAnswer', `${program} wrote more than 1 MiB${said(output)}`)
  else if (kind === 'killed') say('fail', 'killedBySignal', `${program} ended by ${signalNamed(value)}${said(output)}`)
  else if (value !== 0) say('fail', 'exitStatus', `${program} ended with ${value}${said(output)}`)
  else say('ok', 'ok', `${program} ended with 0`)
}

const said = (output: string): string => (output.trim() === '' ? '' : `: ${output.trim()}`)

/** Returns the name of an errno number, such as EACCES for 13. */
function nameOf(errno: number): string {
  try {
    return getSystemErrorName(-errno)
  } catch {
    return `error ${errno}`
  }
}

const signalNamed = (number: number): string =>
  Object.entries(constants.signals).find(([, value]) => value === number)?.[0] ?? `signal ${number}`

const since = (startedAt: Millis): Millis => millis(monotonicNow() - startedAt)
