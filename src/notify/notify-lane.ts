/**
 * Runs the notifications of one router or sync group. One program runs at a time, in the order of events, so the last
 * run of a program has the current state. This file decides how many notifications may wait, and what happens to them
 * when the daemon stops. This file knows nothing about the meaning of a notification.
 */
import { isDeepStrictEqual } from 'node:util'
import { RunCutoff } from '../healthcheck/cutoff.ts'
import type { ProbeRun } from '../healthcheck/probe.ts'
import { type Launch, LaunchedPrograms } from '../healthcheck/programs/launched-programs.ts'
import type { ProgramSet, WantedRun } from '../healthcheck/programs/program-set.ts'
import type { Notification, NotifyNews } from './notification.ts'

/**
 * Limit of notifications that wait behind a program that hangs. With a higher limit, the oldest would be outdated
 * before it runs.
 */
const MOST_WAITING = 16
/** Milliseconds that a running program gets when the daemon stops. */
const HURRY = 1_000

export class NotifyLane {
  readonly #launch: Launch
  readonly #tell: (news: NotifyNews) => void
  #set: ProgramSet
  /** Set of programs from which the next run of this lane probably comes. */
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

  /** Starts the launcher of the programs before it is needed, or after the current run has ended. */
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
    // A program that left processes behind keeps its launcher busy. In this case another launcher is started now.
    this.prepare(this.#next)
  }

  async #run({ id, timeout }: Notification, wanted: WantedRun): Promise<void> {
    const abort = new RunCutoff()
    const deadline = setTimeout(() => abort.abort(), timeout)
    const run = this.#programs.start(abort, wanted)
    this.#current = { abort, run }
    const { reason, detail, latency } = await run.result
    this.#tell({ kind: 'ran', id, index: wanted.index, reason, detail, latency })
    // No process of this run may be left when the next run begins.
    await run.ended
    clearTimeout(deadline)
    this.#current = undefined
  }
}
