/**
 * The notifications of one router or group: one program at a time, in the order in which things happened, so that the last
 * word of a program that keeps no order itself is the true one. Decided here: how many may wait, and what becomes of those
 * that wait when the daemon ends. Refuses to know what a notification is about.
 */
import { isDeepStrictEqual } from 'node:util'
import { RunCutoff } from '../healthcheck/cutoff.ts'
import type { ProbeRun } from '../healthcheck/probe.ts'
import { type Launch, LaunchedPrograms } from '../healthcheck/programs/launched-programs.ts'
import type { ProgramSet, WantedRun } from '../healthcheck/programs/program-set.ts'
import type { Notification, NotifyNews } from './notification.ts'

/** Behind a program that hangs; of more than these the oldest is history by the time its turn would come. */
const MOST_WAITING = 16
/** What is under way when the daemon ends gets so long. */
const HURRY = 1_000

export class NotifyLane {
  readonly #launch: Launch
  readonly #tell: (news: NotifyNews) => void
  #set: ProgramSet
  /** What is likely to be run next. */
  #next: ProgramSet
  #programs: LaunchedPrograms
  #waiting: Notification[] = []
  #current: { readonly abort: RunCutoff; readonly run: ProbeRun } | undefined
  #isBusy = false
  #closed = false

  constructor(set: ProgramSet, launch: Launch, tell: (news: NotifyNews) => void) {
    this.#set = set
    this.#next = set
    this.#launch = launch
    this.#tell = tell
    this.#programs = new LaunchedPrograms(set, launch)
  }

  get isBusy(): boolean {
    return this.#isBusy
  }

  /** Has the launcher made before somebody waits for it, or as soon as what is under way has ended. */
  prepare(set: ProgramSet): void {
    this.#next = set
    if (this.#isBusy || this.#closed) return
    this.#use(set)
    void this.#programs.prepare()
  }

  post(notification: Notification): void {
    const overtaken = notification.isLast ? this.#waiting.splice(0) : this.#waiting.splice(0, this.#surplus)
    for (const { id } of overtaken) this.#tell({ kind: 'superseded', id })
    this.#waiting.push(notification)
    if (!this.#isBusy) void this.#work()
    else if (notification.isLast) {
      const { abort } = this.#current ?? {}
      setTimeout(() => abort?.abort(), HURRY).unref()
    }
  }

  close(): void {
    this.#closed = true
    this.#waiting = []
    this.#current?.run.abandon?.()
    this.#programs.close()
  }

  get #surplus(): number {
    return Math.max(0, this.#waiting.length - MOST_WAITING + 1)
  }

  #use(set: ProgramSet): void {
    if (isDeepStrictEqual(set, this.#set)) return
    this.#programs.close()
    this.#set = set
    this.#programs = new LaunchedPrograms(set, this.#launch)
  }

  async #work(): Promise<void> {
    this.#isBusy = true
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      this.#use(next.set)
      for (const wanted of next.runs) {
        if (!this.#closed) await this.#run(next, wanted)
      }
      this.#tell({ kind: 'done', id: next.id })
    }
    this.#isBusy = false
    // What a program has left behind has kept its launcher.
    this.prepare(this.#next)
  }

  async #run({ id, timeout }: Notification, wanted: WantedRun): Promise<void> {
    const abort = new RunCutoff()
    const deadline = setTimeout(() => abort.abort(), timeout)
    const run = this.#programs.start(abort, wanted)
    this.#current = { abort, run }
    const { reason, detail, latency } = await run.result
    this.#tell({ kind: 'ran', id, index: wanted.index, reason, detail, latency })
    // Nothing of it may be left when the next one begins.
    await run.ended
    clearTimeout(deadline)
    this.#current = undefined
  }
}
