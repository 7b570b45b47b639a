/**
 * Runs one check: its timer, its runs, its event source and its health. This file decides the order of the consequences
 * of a result (health, report, source, next slot). A run that has a result but has not ended blocks the next run.
 * `check-runner.ts` does not know how a probe works, other checks, or the receiver of reports.
 */
import type { Millis } from '../wire/units.ts'
import type { CheckSpec } from './check.ts'
import type { CheckReport, Former } from './check-report.ts'
import { RunCutoff } from './cutoff.ts'
import { startDeadline } from './deadline.ts'
import {
  countedAs,
  expireHealth,
  type Health,
  healthDeadline,
  isChanging,
  resumeHealth,
  startHealth,
  stepHealth,
} from './health.ts'
import { type EventSource, monotonicNow, type Probe, type ProbeRun } from './probe.ts'
import type { ProbeResult, Reason } from './probe-result.ts'
import { beginRun, endRun, isDue, promptRun, type Schedule, startSchedule } from './schedule.ts'

export type RunnerOptions = {
  readonly former: Former | undefined
  /**
   * True if the last result came from another target (a reload changed the target). A result of another target counts
   * until the first run for the new target, which decides alone.
   */
  readonly formerTarget?: boolean
  readonly onChange: (report: CheckReport) => void
  /**
   * Called when a run has ended completely. `latency` is the time in milliseconds from the start of the run to its
   * result.
   */
  readonly onRun?: ((latency: Millis) => void) | undefined
  /** Returns a random number from 0 to 1. */
  readonly random: () => number
}

/** A result of a check that the first contradicting run replaces immediately. */
type Doubted = 'up' | 'down'
type Question = { readonly doubted: Doubted; readonly onAnswer: () => void }

export class CheckRunner {
  readonly spec: CheckSpec
  readonly #probe: Probe
  readonly #source: EventSource | undefined
  readonly #options: RunnerOptions
  #health: Health
  #schedule: Schedule
  #timer: NodeJS.Timeout | undefined
  #last: CheckReport['last']
  #weight: number | undefined
  #runs = 0
  readonly #results = new Map<Reason, number>()
  #cutoff: RunCutoff | undefined
  #run: ProbeRun | undefined
  #ended: Promise<void> = Promise.resolve()
  #stopped = false
  /** Requests for a result that the next run of the check answers. */
  readonly #asking = new Set<Question>()
  /** True if the current result comes from another target than the check has now. */
  #inherited: boolean

  constructor(spec: CheckSpec, probe: Probe, options: RunnerOptions) {
    this.spec = spec
    this.#probe = probe
    this.#options = options
    this.#source = probe.events?.(() => this.#prompted())
    const now = monotonicNow()
    const { former, formerTarget = false } = options
    this.#inherited = formerTarget
    this.#health =
      former === undefined ? startHealth(spec.rule, now) : resumeHealth(former.result, former.since, spec.rule, now)
    this.#weight = former?.weight
    this.#schedule = startSchedule(now)
    if (probe.prepare === undefined) this.#tick()
    else void probe.prepare().then(() => this.#tick())
  }

  report(): CheckReport {
    const { result, since } = this.#health
    return {
      check: this.spec.name,
      result,
      countsAs: countedAs(this.#health),
      since,
      last: this.#last,
      weight: this.#weight,
      watched: this.#source?.armed ?? false,
      runs: this.#runs,
      results: Object.fromEntries(this.#results),
      skipped: this.#schedule.skipped,
    }
  }

  /**
   * Runs the check once more. A run that contradicts `doubted` counts as if `fall` or `rise` were reached.
   * `onAnswer` is called with the result of a run that begins after this request, and never during the call. The
   * returned function withdraws the request, so that requests do not accumulate behind a run that never ends.
   */
  askOnceMore(doubted: Doubted, onAnswer: () => void): () => void {
    const question = { doubted, onAnswer }
    this.#asking.add(question)
    const now = monotonicNow()
    // After an event the next run would wait for fastInterval, but a takeover waits for this run.
    this.#schedule = this.#schedule.running ? { ...this.#schedule, again: true } : { ...this.#schedule, dueAt: now }
    this.#tick()
    return () => this.#asking.delete(question)
  }

  /** Number of requests that wait for the next run of the check. */
  get asking(): number {
    return this.#asking.size
  }

  /** Stops the check. Resolves when no socket, watch or process of the check is left. */
  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    this.#source?.close()
    this.#cutoff?.abort()
    this.#run?.abandon?.()
    await this.#ended
    this.#probe.close?.()
  }

  #prompted(): void {
    if (this.#stopped) return
    this.#schedule = promptRun(this.#schedule, this.spec.cadence.fastInterval, monotonicNow())
    this.#tick()
  }

  #tick(): void {
    if (this.#stopped) return
    const now = monotonicNow()
    this.#settle(expireHealth(this.#health, this.spec.rule, now)[0], false)
    if (isDue(this.#schedule, now)) this.#begin()
    this.#arm(now)
  }

  #arm(now: Millis): void {
    clearTimeout(this.#timer)
    const wanted = [healthDeadline(this.#health), this.#schedule.running ? undefined : this.#schedule.dueAt]
    const nearest = Math.min(...wanted.filter((at) => at !== undefined))
    if (nearest === Number.POSITIVE_INFINITY) return
    // Node's timers may fire a little early. After an early timer #tick sets the timer again.
    this.#timer = setTimeout(() => this.#tick(), Math.max(0, Math.ceil(nearest - now)))
  }

  #begin(): void {
    this.#schedule = beginRun(this.#schedule)
    const asking = [...this.#asking]
    this.#asking.clear()
    const cutoff = new RunCutoff()
    this.#cutoff = cutoff
    const endDeadline = startDeadline(this.spec.timeout, () => cutoff.abort())
    const run = this.#probe.start(cutoff)
    this.#run = run
    const taken = run.result.then((result) => {
      endDeadline()
      if (this.#stopped) return
      this.#take(
        result,
        asking.map(({ doubted }) => doubted),
      )
      for (const { onAnswer } of asking) onAnswer()
    })
    this.#ended = Promise.all([taken, run.ended]).then(() => this.#finish())
  }

  #take(result: ProbeResult, asked: readonly Doubted[]): void {
    const now = monotonicNow()
    const { outcome, reason, detail, latency, value } = result
    this.#runs++
    this.#results.set(reason, (this.#results.get(reason) ?? 0) + 1)
    this.#last = { at: now, ok: outcome === 'ok', reason, detail: inOneLine(detail), latency }
    const doubted: readonly Doubted[] = this.#inherited ? ['up', 'down'] : asked
    const [health] = stepHealth(this.#health, outcome, this.spec.rule, now, doubted)
    if (outcome !== 'unknown') this.#inherited = false
    const weighsElse = outcome === 'ok' && value !== this.#weight
    if (weighsElse) this.#weight = value
    // The first result of this worker is always reported, even if it confirms the last result. Until this first result
    // the engine only has the result of the former worker, which this worker repeats.
    this.#settle(health, weighsElse || this.#runs === 1)
    this.#source?.afterRun(result)
    // After its timeout a run has a result, but may still continue, for example if its program does not end.
    this.#arm(now)
  }

  #settle(health: Health, isNews: boolean): void {
    const moved = health.result !== this.#health.result || countedAs(health) !== countedAs(this.#health)
    this.#health = health
    if (moved || isNews) this.#options.onChange(this.report())
  }

  #finish(): void {
    if (this.#stopped) return
    const now = monotonicNow()
    const changing = isChanging(this.#health)
    this.#schedule = endRun(this.#schedule, this.spec.cadence, changing, now, this.#options.random())
    // A run was requested during this run of the check, so the next run begins immediately.
    if (this.#asking.size > 0) this.#schedule = { ...this.#schedule, dueAt: now }
    this.#tick()
    if (this.#last !== undefined) this.#options.onRun?.(this.#last.latency)
  }

  /**
   * Returns the result with which a new worker continues this check. `undefined` if the check counts as neither up nor
   * down.
   */
  get former(): Former | undefined {
    const countsAs = countedAs(this.#health)
    return countsAs === 'nothing' ? undefined : { result: countsAs, since: this.#health.since, weight: this.#weight }
  }
}

const LONGEST_DETAIL = 500

/** Makes a text one line. The text may come from a target or program, and is printed to terminals and logs. */
const inOneLine = (text: string): string => text.slice(0, LONGEST_DETAIL).replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
