/**
 * What a guardian's word says of each unit, as far as an engine can know by what it has done itself: tape and replay keep
 * the same account, so that only a word that says something else has to be written down. Refuses to know shared memory.
 */
import type { PlanState } from '../daemon/ports.ts'

export class WillWords {
  readonly #words = new Map<number, PlanState>()

  of(unit: number): PlanState {
    return this.#words.get(unit) ?? 'withdrawn'
  }

  set(unit: number, state: PlanState): void {
    this.#words.set(unit, state)
  }

  /** `done`: what arm() has said. */
  armed(unit: number, done: boolean): void {
    if (done) this.set(unit, 'armed')
  }

  withdrawn(unit: number): void {
    this.set(unit, 'withdrawn')
  }
}
