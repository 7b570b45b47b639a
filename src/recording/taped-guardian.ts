/**
 * The guardian port of an engine that is recorded. The engine often asks whether a plan was executed, with nearly
 * always the same answer. The answer is recorded only when it changes.
 */
import type { CleanupPlan, GuardianPort, PlanState } from '../daemon/ports.ts'
import type { Millis } from '../wire/units.ts'
import * as outputs from './outputs.ts'
import { PlanStates } from './plan-states.ts'
import type { Tape } from './tape.ts'
import { TapedClock } from './taped-clock.ts'

export class TapedGuardian implements GuardianPort {
  readonly #tape: Tape
  readonly #guardian: GuardianPort
  readonly #states = new PlanStates()
  readonly clock: TapedClock | undefined
  readonly #recorded = { guarded: false, executions: 0, watched: false }

  constructor(tape: Tape, guardian: GuardianPort) {
    this.#tape = tape
    this.#guardian = guardian
    this.clock = guardian.clock && new TapedClock(tape, guardian.clock)
  }

  arm(plan: CleanupPlan): boolean {
    const armed = this.#guardian.arm(plan)
    this.#tape.output({ ...outputs.armedPlan(plan, this.#tape.messageHex), answer: armed ? undefined : false })
    this.#states.armed(plan.unit, armed)
    return armed
  }

  stepDown(unit: number): ReturnType<GuardianPort['stepDown']> {
    const answer = this.#guardian.stepDown(unit)
    this.#tape.output({ out: 'stepDown', unit, answer: outputs.steppedDownAnswer(answer) })
    this.#states.withdrawn(unit)
    return answer
  }

  withdraw(unit: number): void {
    this.#tape.output({ out: 'withdraw', unit })
    this.#guardian.withdraw(unit)
    this.#states.withdrawn(unit)
  }

  sent(unit: number, at: Millis): void {
    this.#tape.output({ out: 'promise', unit, at })
    this.#guardian.sent(unit, at)
  }

  state(unit: number): PlanState {
    const state = this.#guardian.state(unit)
    if (this.#tape.isInside && this.#states.of(unit) !== state) {
      this.#states.set(unit, state)
      this.#tape.answer({ in: 'word', unit, state })
    }
    return state
  }

  acknowledge(unit: number): boolean {
    const done = this.#guardian.acknowledge(unit)
    this.#tape.output({ out: 'acknowledge', unit, answer: done ? undefined : false })
    this.#states.withdrawn(unit)
    return done
  }

  listen(onCall: () => void): boolean {
    const isWatched = this.#guardian.listen(() => this.#tape.enter({ in: 'called' }, onCall))
    this.#tape.output({ out: 'listen', answer: isWatched ? undefined : false })
    return isWatched
  }

  watch(patience: number, within: number): boolean {
    const isWatched = this.#guardian.watch?.(patience, within) ?? false
    if (isWatched !== this.#recorded.watched) this.#tape.answer({ in: 'watched', watched: isWatched })
    this.#recorded.watched = isWatched
    return isWatched
  }

  beat(now: Millis): ReturnType<GuardianPort['beat']> {
    const beat = this.#guardian.beat(now)
    this.#tape.answer({ in: 'beat', silent: beat?.silent, ...(beat?.isChanging === true ? { changing: true } : {}) })
    return beat
  }

  get executions(): number {
    return this.#tape.isInside ? this.#look().executions : this.#guardian.executions
  }

  get guarded(): boolean {
    return this.#tape.isInside ? this.#look().guarded : this.#guardian.guarded
  }

  /** The value is read for the status only, so it is not recorded. */
  get armed(): boolean {
    return this.#guardian.armed
  }

  /**
   * Records both values when one of them has changed. Each value is read once, because the guardian may change it at
   * any time.
   */
  #look(): { readonly guarded: boolean; readonly executions: number } {
    const { executions, guarded } = this.#guardian
    if (executions === this.#recorded.executions && guarded === this.#recorded.guarded) return this.#recorded
    Object.assign(this.#recorded, { executions, guarded })
    this.#tape.answer({ in: 'guardian', executions, guarded })
    return this.#recorded
  }
}
