/**
 * Runs one health check of a node on the virtual LAN, with the daemon's own schedule and rules
 * (healthcheck/schedule.ts, health.ts) on virtual time. The check sets the node's priority, and answers fastPreempt's
 * question as monitor.ts does. This file decides how long a run of the check takes. This file does not know the checks
 * of other nodes.
 */
import type { Cadence, HealthRule } from '../../src/healthcheck/check.ts'
import { countedAs, type Health, isChanging, startHealth, stepHealth } from '../../src/healthcheck/health.ts'
import { beginRun, endRun, isDue, promptRun, type Schedule, startSchedule } from '../../src/healthcheck/schedule.ts'
import { millis } from '../../src/wire/units.ts'
import type { VirtualLan } from './virtual-lan.ts'
import type { VirtualNode } from './virtual-node.ts'

export type Answer = 'well' | 'refused' | 'silent'

export type VirtualCheckSpec = {
  readonly cadence: Cadence
  readonly rule: HealthRule
  readonly timeout: number
  readonly base: number
  readonly weight: number
  /** Duration of a run that gets an answer, in ms, including the messages between the threads in both directions. */
  readonly latency: number
  /** Returns a new random number from 0 to 1 at each call. */
  readonly random: () => number
  /**
   * True if the weight of a check that is up counts as confirmed, so that fastPreempt needs no further run of the
   * check.
   */
  readonly believes: boolean
}

export class VirtualCheck {
  /** Virtual time in ms at which the check last became up. */
  upSince = 0
  readonly #lan: VirtualLan
  readonly #node: VirtualNode
  readonly #spec: VirtualCheckSpec
  readonly #backend: () => Answer
  #health: Health
  #schedule: Schedule
  #asking: (() => void)[] = []

  /** Creates the check and schedules its first run in `phase` ms. */
  constructor(lan: VirtualLan, node: VirtualNode, spec: VirtualCheckSpec, backend: () => Answer, phase: number) {
    this.#lan = lan
    this.#node = node
    this.#spec = spec
    this.#backend = backend
    this.#health = startHealth(spec.rule, millis(lan.now))
    this.#schedule = startSchedule(millis(lan.now + phase))
    node.onAskChecks = (within) => this.#askOnceMore(within)
    this.#arm()
  }

  get isUp(): boolean {
    return countedAs(this.#health) === 'up'
  }

  /** Runs the check immediately, because an idle connection to the service has ended. */
  prompt(): void {
    this.#schedule = promptRun(this.#schedule, this.#spec.cadence.fastInterval, millis(this.#lan.now))
    this.#arm()
  }

  #arm(): void {
    const { dueAt, running } = this.#schedule
    if (!running) this.#lan.later(Math.max(0, dueAt - this.#lan.now), () => this.#tick())
  }

  #tick(): void {
    if (isDue(this.#schedule, millis(this.#lan.now))) this.#begin()
  }

  #begin(): void {
    const { latency, timeout } = this.#spec
    this.#schedule = beginRun(this.#schedule)
    const asking = this.#asking
    this.#asking = []
    const answer = this.#backend()
    this.#lan.later(answer === 'silent' ? timeout : latency, () => this.#end(answer, asking))
  }

  #end(answer: Answer, asking: readonly (() => void)[]): void {
    const { cadence, random, rule } = this.#spec
    const now = millis(this.#lan.now)
    const [health] = stepHealth(
      this.#health,
      answer === 'well' ? 'ok' : 'fail',
      rule,
      now,
      asking.length > 0 ? ['up'] : [],
    )
    const wasUp = this.isUp
    this.#health = health
    if (this.isUp && !wasUp) this.upSince = now
    this.#schedule = endRun(this.#schedule, cadence, isChanging(health), now, random())
    if (this.#asking.length > 0) this.#schedule = { ...this.#schedule, dueAt: now }
    this.#weigh()
    for (const answered of asking) answered()
    this.#arm()
  }

  #weigh(): void {
    const { base, believes, weight } = this.#spec
    const priority = this.isUp ? base + weight : base
    this.#node.setPriority(priority, this.#lan.now, believes ? priority : base)
  }

  /**
   * Runs the check once more for fastPreempt, as monitor.ts and check-runner.ts do. If the run gets no answer within
   * `within` ms, the check counts as failed for fastPreempt only.
   */
  #askOnceMore(within: number): void {
    const { base, weight } = this.#spec
    let open = true
    const answer = (assured: number) => {
      if (open) this.#node.answerChecks(assured, this.#lan.now)
      open = false
    }
    this.#asking.push(() => answer(this.isUp ? base + weight : base))
    this.#lan.later(within, () => answer(base))
    const now = millis(this.#lan.now)
    this.#schedule = this.#schedule.running ? { ...this.#schedule, again: true } : { ...this.#schedule, dueAt: now }
    this.#arm()
  }
}
