/**
 * The health checks as the engine sees them: they run in the worker thread (docs/architecture.md), and this is their port. Decided
 * here: that a thread that comes after another is given what was set last. It remembers no result: the engine hears
 * `checksLost` and sets the checks anew with what it holds. Refuses to know what a check is, and how a thread is made.
 */
import type { CheckPort, CheckPortNews } from '../daemon/ports.ts'
import type { CheckSpec } from '../healthcheck/check.ts'
import type { Asked, CheckOrder, Formerly } from '../healthcheck/check-message.ts'
import { programSetOf } from '../healthcheck/programs/program-set.ts'
import type { Millis } from '../wire/units.ts'
import type { Launchers } from './launchers.ts'
import { ThreadPulse } from './thread-pulse.ts'
import type { WorkerMessage } from './worker-message.ts'
import type { WorkerGuest, WorkerThread } from './worker-thread.ts'

const STOP_TIMEOUT = 1_000

type Thread = Pick<WorkerThread, 'host' | 'keep' | 'post' | 'giveUp'>

export class CheckThread implements CheckPort {
  readonly #thread: Thread
  readonly #launchers: Pick<Launchers, 'permit'>
  readonly #guest: WorkerGuest
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
    this.#guest = {
      onStart: () => this.#begin(),
      onMessage: (message) => this.#hear(message),
      onEnd: () => this.#lost(),
    }
    thread.host(this.#guest)
  }

  set(checks: readonly CheckSpec[], formerly: readonly Formerly[]): void {
    this.#checks = checks
    this.#formerly = formerly
    this.#permit()
    if (this.#running) this.#order({ kind: 'setChecks', checks, formerly })
    if (checks.length === 0) this.#rest()
    else if (!this.#running) this.#thread.keep(this.#guest, true)
  }

  /** The thread is made before anybody knows what it is to check: a router waits for the first result of a check. */
  prepare(): void {
    this.#thread.keep(this.#guest, true)
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
    this.#thread.keep(this.#guest, false)
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
