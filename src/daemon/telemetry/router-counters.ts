/** Counters of one router that never go back, for status and metrics. Decides nothing. */
import { Counters } from './recorder.ts'

export class RouterCounters {
  /** Valid advertisements that changed nothing, by reason. */
  readonly refused = new Counters()
  /** Packets for the router that were not valid, by reason. */
  readonly discarded = new Counters()
  /** Advertisements that were accepted with a warning, by warning. */
  readonly warnings = new Counters()
  /** Takeovers that did not happen, or not yet, by reason. */
  readonly suppressed = new Counters()
  #received = 0
  #receivedZero = 0
  #competingAnswers = 0
  #executedPlans = 0

  get received(): number {
    return this.#received
  }

  /** Advertisements of `received` with priority 0. */
  get receivedZero(): number {
    return this.#receivedZero
  }

  /** Times that another host answered for an address while this router was Active. */
  get competingAnswers(): number {
    return this.#competingAnswers
  }

  /** Times that the guardian removed the addresses because this engine was late. */
  get executedPlans(): number {
    return this.#executedPlans
  }

  countReceived(priority: number): void {
    this.#received++
    if (priority === 0) this.#receivedZero++
  }

  countCompetingAnswer(): void {
    this.#competingAnswers++
  }

  countExecutedPlan(): void {
    this.#executedPlans++
  }
}
