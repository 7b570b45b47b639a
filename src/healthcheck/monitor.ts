/**
 * Runs all health checks of one thread. This file decides which checks are started, kept and ended by a new list of
 * checks, and which result counts while a check is replaced. A check whose specification is unchanged keeps running.
 * `monitor.ts` does not know weights, or the receiver of reports.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Millis } from '../wire/units.ts'
import type { CheckSpec } from './check.ts'
import type { Asked } from './check-message.ts'
import type { CheckReport, Former } from './check-report.ts'
import { CheckRunner } from './check-runner.ts'
import { type ProbePorts, probeOf } from './probe-of.ts'

export type MonitorListener = {
  /**
   * Called when the result of a check, the way in which the check counts, or the number in its file of weights changes.
   */
  readonly healthChanged: (report: CheckReport) => void
  /**
   * Called when a run of a check has ended. `latency` is the time in milliseconds from the start of the run to its
   * result.
   */
  readonly ran?: (check: string, latency: Millis) => void
}

export class Monitor {
  readonly #listener: MonitorListener
  readonly #ports: ProbePorts
  readonly #random: () => number
  readonly #runners = new Map<string, CheckRunner>()

  constructor(listener: MonitorListener, ports: ProbePorts, random: () => number = Math.random) {
    this.#listener = listener
    this.#ports = ports
    this.#random = random
  }

  /**
   * Replaces the list of checks. `formerly` has results from before this worker started: rise and fall continue from
   * these results, so a restart alone changes nothing. Resolves when no socket or process of a removed check is left.
   */
  async configure(checks: readonly CheckSpec[], formerly: ReadonlyMap<string, Former> = new Map()): Promise<void> {
    const wanted = new Map(checks.map((check) => [check.name, check]))
    const ending: Promise<void>[] = []
    for (const [name, runner] of this.#runners) {
      if (isDeepStrictEqual(wanted.get(name), runner.spec)) continue
      this.#runners.delete(name)
      ending.push(runner.stop())
      const successor = wanted.get(name)
      if (successor === undefined) continue
      this.#start(successor, runner.former, !isDeepStrictEqual(successor.probe, runner.spec.probe))
    }
    for (const check of checks) {
      if (!this.#runners.has(check.name)) this.#start(check, formerly.get(check.name))
    }
    await Promise.all(ending)
  }

  reports(): CheckReport[] {
    return [...this.#runners.values()].map((runner) => runner.report())
  }

  /**
   * Runs these checks once more. A run that contradicts the check's last result counts immediately
   * (docs/architecture.md, Protocol decisions, fastPreempt). Unknown names are skipped. Checks without a result in time
   * are missing in the returned list.
   */
  askOnceMore({ up, down }: Asked, within: Millis): Promise<CheckReport[]> {
    const doubts = [
      ...up.map((name) => ({ name, doubted: 'up' }) as const),
      ...down.map((name) => ({ name, doubted: 'down' }) as const),
    ]
    const asked = doubts.flatMap(({ name, doubted }) => {
      const runner = this.#runners.get(name)
      return runner === undefined ? [] : [{ runner, doubted }]
    })
    if (asked.length === 0) return Promise.resolve([])
    return new Promise((resolve) => {
      const answered = new Map<CheckRunner, CheckReport>()
      let left = asked.length
      const withdraw = asked.map(({ runner, doubted }) =>
        runner.askOnceMore(doubted, () => {
          answered.set(runner, runner.report())
          left--
          if (left === 0) finish()
        }),
      )
      const finish = () => {
        clearTimeout(late)
        for (const each of withdraw) each()
        resolve([...answered.values()])
      }
      const late = setTimeout(finish, within)
    })
  }

  /** Stops all checks. Resolves when no socket, watch or process of any check is left. */
  async stop(): Promise<void> {
    await this.configure([])
  }

  /** `formerTarget`: the former result comes from another target, because a reload changed the target of the check. */
  #start(check: CheckSpec, former: Former | undefined, formerTarget = false): void {
    const { healthChanged: onChange, ran } = this.#listener
    const onRun = (latency: Millis) => ran?.(check.name, latency)
    const probe = probeOf(check.probe, this.#ports)
    const runner = new CheckRunner(check, probe, { former, formerTarget, onChange, onRun, random: this.#random })
    this.#runners.set(check.name, runner)
  }
}
