/** The guardian's clock of a replayed engine. The recording is made in taped-clock.ts. */
import type { ClockOrder, ClockPort, ClockReading } from '../daemon/ports.ts'
import type { Millis } from '../wire/units.ts'
import * as outputs from './outputs.ts'
import type { Playback } from './playback.ts'

export class ReplayedClock implements ClockPort {
  readonly #playback: Playback
  #onCover: (() => void) | undefined

  constructor(playback: Playback) {
    this.#playback = playback
  }

  /** Wakes the engine as for a late clock of the guardian. Returns false if the engine does not listen. */
  covered(): boolean {
    this.#onCover?.()
    return this.#onCover !== undefined
  }

  arm(order: ClockOrder): boolean {
    return this.#playback.outcome(outputs.ordered(order, outputs.plainHex), (answer) => answer === undefined)
  }

  withdraw(slot: number): ClockReading {
    return this.#playback.outcome({ out: 'endClock', slot }, outputs.readingOf)
  }

  read(): ClockReading {
    return this.#playback.requiredAnswerTo('rounds')?.reading ?? outputs.NO_ROUNDS
  }

  forget(slot: number): void {
    this.#playback.did({ out: 'forgetClock', slot })
  }

  release(unit: number): void {
    this.#playback.did({ out: 'releaseUnit', unit })
  }

  cover(at: Millis): void {
    this.#playback.did({ out: 'cover', at })
  }

  prove(): boolean {
    return this.#playback.requiredAnswerTo('proof')?.given ?? true
  }

  listen(onCover: () => void): void {
    this.#onCover = onCover
  }
}
