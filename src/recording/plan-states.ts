/**
 * The word of each unit in the guardian's memory, as far as an engine's own actions determine it. Tape and replay keep
 * the same account, so only a word with another value has to be recorded. Does not know shared memory.
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

  /** Records an armed plan. `done`: result of arm(). */
  armed(unit: number, done: boolean): void {
    if (done) this.set(unit, 'armed')
  }

  withdrawn(unit: number): void {
    this.set(unit, 'withdrawn')
  }
}
