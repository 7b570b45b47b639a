/**
 * Computes the word of each unit in the guardian's memory, as far as the engine's own actions determine it. Tape and
 * replay compute the same words, so only a word with another value has to be recorded. This file knows nothing about
 * the shared memory.
 */
import type { PlanState } from '../daemon/ports.ts'

export class PlanStates {
  readonly #states = new Map<number, PlanState>()

  of(unit: number): PlanState {
    return this.#states.get(unit) ?? 'withdrawn'
  }

  set(unit: number, state: PlanState): void {
    this.#states.set(unit, state)
  }

  /** Notes that the engine gave the guardian a cleanup plan. `done`: the return value of arm(). */
  armed(unit: number, done: boolean): void {
    if (done) this.set(unit, 'armed')
  }

  withdrawn(unit: number): void {
    this.set(unit, 'withdrawn')
  }
}
