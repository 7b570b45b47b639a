/** The guardian of a replayed engine. The replayed guardian gives the recorded answers that taped-guardian.ts wrote. */
import type { CleanupPlan, GuardianPort, PlanState } from '../daemon/ports.ts'
import type { Millis } from '../wire/units.ts'
import * as outputs from './outputs.ts'
import { PlanStates } from './plan-states.ts'
import type { Playback } from './playback.ts'
import { ReplayedClock } from './replayed-clock.ts'

/** Tells whether a recorded answer means success, which is `undefined`. */
const isWell = (answer: unknown): boolean => answer === undefined

export class ReplayedGuardian implements GuardianPort {
  readonly #playback: Playback
  readonly #states = new PlanStates()
  readonly #last = { guarded: false, executions: 0 }
  /** Guardian's clock that the recorded engine had; `undefined` if it had none. */
  clock: ReplayedClock | undefined
  #onCall: (() => void) | undefined
  /** False in recordings of daemons that tested the guardian themselves, without a timer of the port. */
  #watched = false

  constructor(playback: Playback) {
    this.#playback = playback
  }

  /** Gives the engine a guardian's clock, as the recorded engine had one. */
  startClock(): void {
    this.clock = new ReplayedClock(this.#playback)
  }

  /** Gives the engine a wake-up of the guardian. Returns false if the engine does not listen. */
  called(): boolean {
    this.#onCall?.()
    return this.#onCall !== undefined
  }

  arm(plan: CleanupPlan): boolean {
    const armed = this.#playback.outcome(outputs.armedPlan(plan, outputs.plainHex), isWell)
    this.#states.armed(plan.unit, armed)
    return armed
  }

  stepDown(unit: number): ReturnType<GuardianPort['stepDown']> {
    this.#states.withdrawn(unit)
    return this.#playback.outcome({ out: 'stepDown', unit }, outputs.steppedDown)
  }

  withdraw(unit: number): void {
    this.#states.withdrawn(unit)
    this.#playback.did({ out: 'withdraw', unit })
  }

  sent(unit: number, at: Millis): void {
    this.#playback.did({ out: 'promise', unit, at })
  }

  state(unit: number): PlanState {
    const word = this.#playback.answerTo('word', (answer) => answer.unit === unit)
    if (word !== undefined) this.#states.set(word.unit, word.state)
    return this.#states.of(unit)
  }

  acknowledge(unit: number): boolean {
    this.#states.withdrawn(unit)
    return this.#playback.outcome({ out: 'acknowledge', unit }, isWell)
  }

  listen(onCall: () => void): boolean {
    this.#onCall = onCall
    return this.#playback.outcome({ out: 'listen' }, isWell)
  }

  watch(): boolean {
    this.#watched = this.#playback.answerTo('watched')?.watched ?? this.#watched
    return this.#watched
  }

  beat(): ReturnType<GuardianPort['beat']> {
    const { silent, changing = false } = this.#playback.requiredAnswerTo('beat') ?? {}
    return silent === undefined ? undefined : { silent, isChanging: changing }
  }

  get executions(): number {
    return this.#look().executions
  }

  get guarded(): boolean {
    return this.#look().guarded
  }

  get armed(): boolean {
    return this.#look().guarded
  }

  #look(): { readonly guarded: boolean; readonly executions: number } {
    const { executions, guarded } = this.#playback.answerTo('guardian') ?? this.#last
    return Object.assign(this.#last, { executions, guarded })
  }
}
