/**
 * Handles the health checks in the engine: one turn converts results to priorities and faults of the routers that track
 * the checks. This file decides when checks are set, repeated and stopped. A daemon that stops ignores results
 * (docs/architecture.md, Leaving). This file knows nothing about how a check runs, or what a router does with a
 * priority.
 */
import { checksOf, nameOf } from '../../config/checks.ts'
import type { Config } from '../../config/config.ts'
import { isInterface } from '../../config/schema/track.ts'
import type { CheckReport } from '../../healthcheck/check-report.ts'
import type { Millis } from '../../wire/units.ts'
import type { Schedule } from '../alarm.ts'
import type { CheckPort, CheckPortNews } from '../ports.ts'
import { postEvent } from '../router/post-event.ts'
import type { Registry } from '../router/registry.ts'
import type { Router } from '../router/router.ts'
import type { Recorder } from '../telemetry/recorder.ts'
import type { Turns } from '../turns.ts'
import type { CheckBoard, CheckChange } from './check-board.ts'
import { type CheckEffect, CheckLog } from './check-log.ts'
import { CheckQuestions } from './check-question.ts'
import type { Trackers } from './trackers.ts'

/** Milliseconds that stop() waits for the end of the health checks. */
const LONGEST_STOP = 1_000

export type HealthWatchContext = {
  /** Port of the health checks; `undefined`: no check ever gets a result. */
  readonly checks: CheckPort | undefined
  readonly board: CheckBoard
  readonly trackers: Trackers
  readonly registry: Registry
  readonly recorder: Recorder
  readonly schedule: Schedule
  readonly turns: Turns
  /** Called when the result of a check has changed. */
  readonly onChanged: () => void
}

export class HealthWatch {
  readonly #context: HealthWatchContext
  readonly #log: CheckLog
  readonly #questions: CheckQuestions
  #stopped = false

  constructor(context: HealthWatchContext) {
    this.#context = context
    this.#log = new CheckLog(context.recorder, (check) => this.#effectsOf(check))
    this.#questions = new CheckQuestions(context.trackers)
  }

  /** Sets the checks of the configuration. The caller must do this before the first router reads its trackers. */
  setChecks(config: Config, now: Millis): void {
    const checks = checksOf(config)
    this.#context.board.set(checks, now)
    this.#log.keep(new Set(checks.map(nameOf)))
  }

  /** Starts the checks. The caller must first start the routers, because their first advertisements come first. */
  start(): void {
    const { checks } = this.#context
    checks?.onNews((news) => this.#take(news))
    this.#set()
  }

  /** Restarts the health checks that a reload changed. The caller must call setChecks() before. */
  reload(changed: readonly string[]): void {
    if (changed.length > 0) this.#set()
  }

  #set(): void {
    const { board, checks } = this.#context
    checks?.set(board.specs, board.formerly())
  }

  /** Resolves when no health check runs, or after a second. */
  stop(): Promise<void> {
    const { checks, schedule } = this.#context
    this.#stopped = true
    this.#questions.forget()
    if (checks === undefined) return Promise.resolve()
    return new Promise((resolve) => {
      const cancel = schedule(resolve, LONGEST_STOP)
      const done = () => {
        cancel()
        resolve()
      }
      checks.stop().then(done, done)
    })
  }

  /** Time at which the result of a check becomes invalid because no report arrived; `undefined` if no result can. */
  get nextAt(): Millis | undefined {
    return this.#stopped ? undefined : this.#context.board.doubtAt
  }

  runDue(now: Millis): void {
    if (!this.#stopped) this.#follow(this.#context.board.doubt(now), now)
  }

  /** Executes the effect `askChecks` of a router: repeats its health checks. */
  ask(router: Router, within: Millis): void {
    this.#questions.ask(router, within, this.#context.checks)
  }

  #take(news: CheckPortNews): void {
    if (this.#stopped) return
    switch (news.kind) {
      case 'healthChanged':
        return this.#hear([news.report])
      case 'checkBeat':
        return this.#hear(news.reports)
      case 'askedOnceMore':
        return this.#hear(news.reports, news.id)
      case 'checksLost':
        this.#questions.forget()
        this.#set()
    }
  }

  #hear(reports: readonly CheckReport[], id?: number): void {
    const { board, turns } = this.#context
    const now = turns.begin('healthcheck')
    const changes = board.hear(reports, now)
    this.#log.catchUp(now)
    this.#follow(changes, now)
    const answer = id === undefined ? undefined : this.#questions.answer(id, new Set(reports.map(({ check }) => check)))
    if (answer !== undefined) postEvent(answer.router, { kind: 'checksAnswered', assured: answer.assured }, now)
    // A report of the checks without changes moves no deadline.
    if (changes.length > 0 || answer !== undefined) turns.endWoken(now)
    else turns.endUnchanged(now)
  }

  #follow(changes: readonly CheckChange[], now: Millis): void {
    if (changes.length === 0) return
    this.#context.onChanged()
    // The log line of the check comes before the log lines of its effects on routers.
    this.#log.tell(changes, now)
    const names = new Set(changes.map(({ name }) => name))
    const { registry, trackers } = this.#context
    const tracking = [...registry.routers.values()].filter((router) => tracks(router, (name) => names.has(name)))
    followTrackers(tracking, trackers, now)
  }

  /**
   * Returns the effects that a health check has in its present state. The routers may receive these effects a moment
   * later.
   */
  #effectsOf(check: string): readonly CheckEffect[] {
    const { registry, trackers } = this.#context
    return [...registry.routers.values()].flatMap((router): CheckEffect[] => {
      if (!tracks(router, (name) => name === check)) return []
      const { name, priority, spec, state } = router
      const starts = state.name === 'Initialize'
      const { parts, faults } = trackers.of(spec.basePriority, spec.track, starts, priority.replaced)
      const own = [`healthcheckDown:${check}`, `healthcheckUndecided:${check}`]
      const fault = faults.some((each) => each.present && own.includes(each.fault))
      const part = parts.find((each) => each.kind === 'healthcheck' && each.name === check)
      return [part === undefined || fault ? { router: name, fault } : { router: name, adds: part.adds }]
    })
  }
}

const tracks = ({ spec }: Router, wanted: (check: string) => boolean): boolean =>
  spec.track.some((tracker) => !isInterface(tracker) && wanted(tracker.healthcheck))

/**
 * Applies the trackers to the routers, in the order of Placement.refresh(), because the end of a fault may start its
 * router.
 */
function followTrackers(routers: readonly Router[], trackers: Trackers, now: Millis): void {
  const found = routers.map((router) => {
    const { basePriority, track } = router.spec
    const starts = router.state.name === 'Initialize'
    return { router, tracking: trackers.of(basePriority, track, starts, router.priority.replaced) }
  })
  for (const { router, tracking } of found) {
    for (const { fault, present, canSend } of tracking.faults) if (present) router.setFault(fault, true, canSend, now)
    const changed = router.adoptTracking(tracking, now)
    if (changed !== undefined) postEvent(router, changed, now)
  }
  for (const { router, tracking } of found) {
    for (const { fault, present } of tracking.faults) if (!present) router.setFault(fault, false, false, now)
  }
}
