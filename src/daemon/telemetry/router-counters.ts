/** Counters of one router for status and metrics. These counters only grow. No decision is made here. */
import { Counters } from './recorder.ts'

export class RouterCounters {
  /** Number of valid advertisements that changed nothing, by reason. */
  readonly refused = new Counters()
  /** Number of invalid packets for the router, by reason. */
  readonly discarded = new Counters()
  /** Number of advertisements that were accepted with a warning, by warning. */
  readonly warnings = new Counters()
  /** Number of takeovers that were suppressed or delayed, by reason. */
  readonly suppressed = new Counters()
  #received = 0
  #receivedZero = 0
  #competingAnswers = 0
  #executedPlans = 0

  get received(): number {
    return this.#received
  }

  /** Number of advertisements in `received` with priority 0. */
  get receivedZero(): number {
    return this.#receivedZero
  }

  /** Number of answers of other hosts for a VIP while this router was Active. */
  get competingAnswers(): number {
    return this.#competingAnswers
  }

  /** Number of times that the guardian removed the addresses because this engine was late. */
  get executedPlans(): number {
    return this.#executedPlans
  }

  countReceived(priority: number): void {
    this.#received++
    if (priority === 0) this.#receivedZero++
  }

  /** Counts accepted advertisements that repeated the last one, which has not priority 0. */
  countRepetitions(count: number): void {
    this.#received += count
  }

  countCompetingAnswer(): void {
    this.#competingAnswers++
  }

  countExecutedPlan(): void {
    this.#executedPlans++
  }
}
