/**
 * Runs the health checks of a worker on a simulated node: the daemon's own rules and schedule (src/healthcheck) on
 * virtual time. The checked services are up or down. This file decides how long a run of a check takes.
 */
import type { CheckPort, CheckPortNews } from '../../daemon/ports.ts'
import type { CheckSpec } from '../../healthcheck/check.ts'
import type { CheckReport } from '../../healthcheck/check-report.ts'
import { countedAs, type Health, isChanging, resumeHealth, startHealth, stepHealth } from '../../healthcheck/health.ts'
import { beginRun, endRun, promptRun, type Schedule, startSchedule } from '../../healthcheck/schedule.ts'
import type { Millis } from '../../wire/units.ts'
import { millis } from '../../wire/units.ts'
import type { Chance } from '../chance.ts'
import type { Cancel } from '../virtual-time.ts'
import type { LocalClock, Timers } from './local-clock.ts'

const LATENCY = 2
/** Milliseconds between two reports of the simulated worker, which show the engine that the worker lives. */
const BEAT = 1_000

type Run = {
  readonly spec: CheckSpec
  health: Health
  schedule: Schedule
  asked: { readonly doubted: 'up' | 'down'; readonly answered: () => void }[]
  due: Cancel | undefined
  runs: number
}

export type ChecksContext = {
  readonly clock: LocalClock
  readonly timers: Timers
  readonly chance: Chance
  /** Returns true if the service that this check checks is up. */
  readonly isWell: (check: string) => boolean
  /** Adds a message to the event loop of the engine. */
  readonly post: (act: () => void) => void
}

export class Checks implements CheckPort {
  readonly #context: ChecksContext
  readonly #runs = new Map<string, Run>()
  #listener: (news: CheckPortNews) => void = () => {}
  #beats: Cancel | undefined

  constructor(context: ChecksContext) {
    this.#context = context
  }

  onNews(listener: (news: CheckPortNews) => void): void {
    this.#listener = listener
  }

  set(checks: readonly CheckSpec[], formerly: Parameters<CheckPort['set']>[1]): void {
    const now = this.#context.clock.now()
    for (const run of this.#runs.values()) run.due?.()
    const before = new Map(this.#runs)
    this.#runs.clear()
    for (const spec of checks) {
      const known = before.get(spec.name)
      const former = formerly.find(({ check }) => check === spec.name)
      const health =
        known?.health ??
        (former === undefined ? startHealth(spec.rule, now) : resumeHealth(former.result, former.since, spec.rule, now))
      const run: Run = { spec, health, schedule: startSchedule(now), asked: [], due: undefined, runs: known?.runs ?? 0 }
      this.#runs.set(spec.name, run)
      this.#arm(run)
    }
    this.#beats?.()
    this.#beat()
  }

  askOnceMore(
    id: number,
    asked: { readonly up: readonly string[]; readonly down: readonly string[] },
    within: Millis,
  ): void {
    const doubts = [
      ...asked.up.map((name) => [name, 'up'] as const),
      ...asked.down.map((name) => [name, 'down'] as const),
    ]
    const answered = new Map<string, Run>()
    let open = true
    const finish = () => {
      if (open)
        this.#tell({ kind: 'askedOnceMore', id, reports: [...answered.values()].map((run) => this.#report(run)) })
      open = false
    }
    const wanted = doubts.flatMap(([name, doubted]) => {
      const run = this.#runs.get(name)
      return run === undefined ? [] : [{ run, doubted }]
    })
    for (const { run, doubted } of wanted) {
      const heard = () => {
        answered.set(run.spec.name, run)
        if (answered.size === wanted.length) finish()
      }
      run.asked.push({ doubted, answered: heard })
      const now = this.#context.clock.now()
      run.schedule = run.schedule.running ? { ...run.schedule, again: true } : { ...run.schedule, dueAt: now }
      this.#arm(run)
    }
    if (wanted.length === 0) finish()
    else this.#context.timers.after(within, finish)
  }

  /** Runs the checks immediately, because an idle connection to a service has ended. */
  prompt(): void {
    for (const run of this.#runs.values()) {
      run.schedule = promptRun(run.schedule, run.spec.cadence.fastInterval, this.#context.clock.now())
      this.#arm(run)
    }
  }

  stop(): Promise<void> {
    for (const run of this.#runs.values()) run.due?.()
    this.#beats?.()
    this.#runs.clear()
    return Promise.resolve()
  }

  #beat(): void {
    this.#beats = this.#context.timers.after(BEAT, () => {
      const reports = [...this.#runs.values()].filter(({ runs }) => runs > 0).map((run) => this.#report(run))
      this.#tell({ kind: 'checkBeat', reports })
      this.#beat()
    })
  }

  #arm(run: Run): void {
    run.due?.()
    if (run.schedule.running) return
    const wait = Math.max(0, run.schedule.dueAt - this.#context.clock.now())
    run.due = this.#context.timers.after(wait, () => this.#begin(run))
  }

  #begin(run: Run): void {
    run.schedule = beginRun(run.schedule)
    const { asked } = run
    run.asked = []
    const well = this.#context.isWell(run.spec.name)
    run.due = this.#context.timers.after(LATENCY, () => this.#end(run, well, asked))
  }

  #end(run: Run, well: boolean, asked: Run['asked']): void {
    const now = this.#context.clock.now()
    const { cadence, rule } = run.spec
    const doubted = asked.map((one) => one.doubted)
    const [health, change] = stepHealth(run.health, well ? 'ok' : 'fail', rule, now, doubted)
    run.health = health
    run.runs++
    run.schedule = endRun(run.schedule, cadence, isChanging(health), now, this.#context.chance())
    if (run.asked.length > 0) run.schedule = { ...run.schedule, dueAt: now }
    if (change !== undefined) this.#tell({ kind: 'healthChanged', report: this.#report(run) })
    for (const { answered } of asked) answered()
    this.#arm(run)
  }

  #report({ spec, health, runs }: Run): CheckReport {
    const ok = countedAs(health) === 'up'
    return {
      check: spec.name,
      result: health.result,
      countsAs: countedAs(health),
      since: health.since,
      last: {
        ...{ at: this.#context.clock.now(), ok, reason: ok ? 'ok' : 'connectionRefused', detail: '' },
        latency: millis(LATENCY),
      },
      ...{ weight: undefined, watched: ok, runs, results: {}, skipped: 0 },
    }
  }

  #tell(news: CheckPortNews): void {
    this.#context.post(() => this.#listener(news))
  }
}
