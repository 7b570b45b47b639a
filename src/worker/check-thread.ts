/**
 * The port of the health checks in the engine; the checks run in the worker thread (docs/architecture.md). A new worker
 * thread gets the checks that were set last. The port stores no result: after `checksLost`, the engine sets the checks
 * again with the results that it has. This file knows nothing about what a check does, and how a thread is started.
 */
import type { CheckPort, CheckPortNews } from '../daemon/ports.ts'
import type { CheckSpec } from '../healthcheck/check.ts'
import type { Asked, CheckOrder, Formerly } from '../healthcheck/check-message.ts'
import { programSetOf } from '../healthcheck/programs/program-set.ts'
import type { Millis } from '../wire/units.ts'
import type { Launchers } from './launchers.ts'
import { ThreadPulse } from './thread-pulse.ts'
import type { WorkerMessage } from './worker-message.ts'
import type { WorkerClient, WorkerThread } from './worker-thread.ts'

const STOP_TIMEOUT = 1_000

type Thread = Pick<WorkerThread, 'register' | 'keep' | 'post' | 'giveUp'>

export class CheckThread implements CheckPort {
  readonly #thread: Thread
  readonly #launchers: Pick<Launchers, 'permit'>
  readonly #client: WorkerClient
  readonly #pulse: ThreadPulse
  #checks: readonly CheckSpec[] = []
  #formerly: readonly Formerly[] = []
  #listener: (news: CheckPortNews) => void = () => {}
  #running = false
  #onStopped: (() => void) | undefined

  constructor(thread: Thread, launchers: Pick<Launchers, 'permit'>, silentAfter?: number) {
    this.#thread = thread
    this.#launchers = launchers
    this.#pulse = new ThreadPulse(() => thread.giveUp(), silentAfter)
    this.#client = {
      onStart: () => this.#begin(),
      onMessage: (message) => this.#hear(message),
      onEnd: () => this.#lost(),
    }
    thread.register(this.#client)
  }

  set(checks: readonly CheckSpec[], formerly: readonly Formerly[]): void {
    this.#checks = checks
    this.#formerly = formerly
    this.#permit()
    if (this.#running) this.#order({ kind: 'setChecks', checks, formerly })
    if (checks.length === 0) this.#rest()
    else if (!this.#running) this.#thread.keep(this.#client, true)
  }

  /** Starts the thread before its checks are known, because a router waits for the first result of a check. */
  prepare(): void {
    this.#thread.keep(this.#client, true)
  }

  askOnceMore(id: number, asked: Asked, within: Millis): void {
    this.#order({ kind: 'askOnceMore', id, asked, within })
  }

  onNews(listener: (news: CheckPortNews) => void): void {
    this.#listener = listener
  }

  async stop(): Promise<void> {
    this.#checks = []
    this.#permit()
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

  #permit(): void {
    const sets = this.#checks.flatMap(({ probe }) => (probe.kind === 'exec' ? [programSetOf(probe)] : []))
    this.#launchers.permit('healthchecks', sets)
  }

  #rest(): void {
    this.#running = false
    this.#pulse.end()
    this.#thread.keep(this.#client, false)
  }

  #order(order: CheckOrder): void {
    this.#thread.post({ kind: 'checkOrder', order })
  }

  #begin(): void {
    this.#running = true
    this.#order({ kind: 'setChecks', checks: this.#checks, formerly: this.#formerly })
    this.#pulse.begin()
  }

  #hear(message: WorkerMessage): void {
    if (message.kind !== 'check') return
    this.#pulse.hear()
    const { news } = message
    if (news.kind === 'checksStopped') this.#onStopped?.()
    else this.#listener(news)
  }

  #lost(): void {
    this.#running = false
    this.#pulse.end()
    this.#onStopped?.()
    this.#listener({ kind: 'checksLost' })
  }
}
