/**
 * The health checks as the engine sees them: they run in the worker thread (design.md §2), and this is their port. Decided
 * here: when that thread counts as hung, and that the one after it is given what was set last. It remembers no result:
 * the engine hears `checksLost` and sets the checks anew with what it holds. Refuses to know what a check is, and how a
 * thread is made.
 */
import type { CheckPort, CheckPortNews } from '../daemon/ports.ts'
import type { CheckSpec } from '../healthcheck/check.ts'
import type { Asked, CheckOrder, Formerly } from '../healthcheck/check-message.ts'
import type { Millis } from '../wire/units.ts'
import { type LauncherPort, Launchers } from './launchers.ts'
import type { WorkerMessage } from './worker-message.ts'
import type { WorkerThread } from './worker-thread.ts'

/** A thread that runs says something every 3.75 s at the latest (healthcheck/check-service.ts). */
const SILENT_AFTER = 5_000
/** So much longer before its first word: it loads, on a node that may be booting. */
const LOADING = 4
/** Share of it for a second look: an engine that was stalled has the thread's words still before it. */
const SECOND_LOOK = 1 / 8
const STOP_TIMEOUT = 1_000

type Thread = Pick<WorkerThread, 'host' | 'keep' | 'post' | 'giveUp'>

export class CheckThread implements CheckPort {
  readonly #thread: Thread
  readonly #launcher: LauncherPort
  readonly #launchers: Launchers
  readonly #silentAfter: number
  #checks: readonly CheckSpec[] = []
  #formerly: readonly Formerly[] = []
  #listener: (news: CheckPortNews) => void = () => {}
  #timer: NodeJS.Timeout | undefined
  #doubted = false
  #running = false
  /** Of the thread: an answer to one is none to the next, which counts its questions from 1 again. */
  #life = 0
  #onStopped: (() => void) | undefined

  constructor(thread: Thread, launcher: LauncherPort, silentAfter = SILENT_AFTER) {
    this.#thread = thread
    this.#silentAfter = silentAfter
    this.#launcher = launcher
    this.#launchers = new Launchers(launcher)
    thread.host({
      onStart: () => this.#begin(),
      onMessage: (message) => this.#hear(message),
      onOrphan: (message) => this.#orphaned(message),
      onEnd: () => this.#lost(),
    })
  }

  set(checks: readonly CheckSpec[], formerly: readonly Formerly[]): void {
    this.#checks = checks
    this.#formerly = formerly
    if (this.#running) this.#order({ kind: 'setChecks', checks, formerly })
    if (checks.length === 0) this.#rest()
    else if (!this.#running) this.#thread.keep(true)
  }

  /** The thread is made before anybody knows what it is to check: a router waits for the first result of a check. */
  prepare(): void {
    this.#thread.keep(true)
  }

  askOnceMore(id: number, asked: Asked, within: Millis): void {
    this.#order({ kind: 'askOnceMore', id, asked, within })
  }

  onNews(listener: (news: CheckPortNews) => void): void {
    this.#listener = listener
  }

  async stop(): Promise<void> {
    this.#checks = []
    if (this.#running) {
      let late: NodeJS.Timeout | undefined
      await new Promise<void>((resolve) => {
        this.#onStopped = resolve
        late = setTimeout(resolve, STOP_TIMEOUT)
        this.#order({ kind: 'stopChecks' })
      })
      clearTimeout(late)
    }
    this.#rest()
  }

  #rest(): void {
    this.#running = false
    clearTimeout(this.#timer)
    this.#thread.keep(false)
  }

  #order(order: CheckOrder): void {
    this.#thread.post({ kind: 'checkOrder', order })
  }

  #begin(): void {
    this.#running = true
    this.#life++
    this.#order({ kind: 'setChecks', checks: this.#checks, formerly: this.#formerly })
    this.#expectWord(LOADING * this.#silentAfter)
  }

  /** Within so many ms. */
  #expectWord(within: number): void {
    this.#doubted = false
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#doubt(), within).unref()
  }

  #doubt(): void {
    if (this.#doubted) return this.#thread.giveUp()
    this.#doubted = true
    this.#timer = setTimeout(() => this.#doubt(), SECOND_LOOK * this.#silentAfter).unref()
  }

  #hear(message: WorkerMessage): void {
    if (message.kind === 'launchWanted') void this.#launch(message)
    if (message.kind !== 'check') return
    if (this.#running) this.#expectWord(this.#silentAfter)
    const { news } = message
    if (news.kind === 'checksStopped') this.#onStopped?.()
    else this.#listener(news)
  }

  async #launch({ id, spec, channel }: Extract<WorkerMessage, { kind: 'launchWanted' }>): Promise<void> {
    const life = this.#life
    const asks = () => this.#running && this.#life === life
    const refusal = await this.#launchers.launch(spec, channel, this.#checks, asks)
    if (asks()) this.#thread.post({ kind: 'launched', id, refusal })
  }

  /** Nobody is to have the descriptor. */
  #orphaned(message: WorkerMessage): void {
    if (message.kind === 'launchWanted') this.#launcher.closeChannel(message.channel)
  }

  #lost(): void {
    this.#running = false
    clearTimeout(this.#timer)
    this.#onStopped?.()
    // Their channels are gone with it, as a rule: one that hangs may still hold them.
    this.#launchers.endAll()
    this.#listener({ kind: 'checksLost' })
  }
}
