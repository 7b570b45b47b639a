/** The guardian of a replayed engine: the other side of taped-guardian.ts. */
import type { CleanupPlan, GuardianPort, PlanState } from '../daemon/ports.ts'
import type { Millis } from '../wire/units.ts'
import * as outputs from './outputs.ts'
import type { Playback } from './playback.ts'
import { WillWords } from './will-words.ts'

/** `undefined`: it went well. */
const isWell = (answer: unknown): boolean => answer === undefined

export class ReplayedGuardian implements GuardianPort {
  readonly #playback: Playback
  readonly #words = new WillWords()
  readonly #last = { guarded: false, executions: 0 }
  #onCall: (() => void) | undefined

  constructor(playback: Playback) {
    this.#playback = playback
  }

  /** Tells the engine of a call of the guardian. Returns false if it does not listen. */
  called(): boolean {
    this.#onCall?.()
    return this.#onCall !== undefined
  }

  arm(plan: CleanupPlan): boolean {
    const armed = this.#playback.outcome(outputs.willed(plan, outputs.plainHex), isWell)
    this.#words.armed(plan.unit, armed)
    return armed
  }

  stepDown(unit: number): ReturnType<GuardianPort['stepDown']> {
    this.#words.withdrawn(unit)
    return this.#playback.outcome({ out: 'stepDown', unit }, outputs.steppedDown)
  }

  withdraw(unit: number): void {
    this.#words.withdrawn(unit)
    this.#playback.did({ out: 'withdraw', unit })
  }

  sent(unit: number, at: Millis): void {
    this.#playback.did({ out: 'promise', unit, at })
  }

  state(unit: number): PlanState {
    const word = this.#playback.told('word', (said) => said.unit === unit)
    if (word !== undefined) this.#words.set(word.unit, word.state)
    return this.#words.of(unit)
  }

  acknowledge(unit: number): boolean {
    this.#words.withdrawn(unit)
    return this.#playback.outcome({ out: 'acknowledge', unit }, isWell)
  }

  listen(onCall: () => void): boolean {
    this.#onCall = onCall
    return this.#playback.outcome({ out: 'listen' }, isWell)
  }

  beat(): ReturnType<GuardianPort['beat']> {
    const { silent, changing = false } = this.#playback.asks('beat') ?? {}
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
    const { executions, guarded } = this.#playback.told('guardian') ?? this.#last
    return Object.assign(this.#last, { executions, guarded })
  }
}
