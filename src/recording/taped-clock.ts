/**
 * The guardian's clock of an engine with a tape. This file decides that the lateness of rounds is left out, because
 * only the status shows it.
 */
import type { ClockOrder, ClockPort, ClockReading } from '../daemon/ports.ts'
import type { Millis } from '../wire/units.ts'
import * as outputs from './outputs.ts'
import type { Tape } from './tape.ts'

export class TapedClock implements ClockPort {
  readonly #tape: Tape
  readonly #clock: ClockPort

  constructor(tape: Tape, clock: ClockPort) {
    this.#tape = tape
    this.#clock = clock
  }

  arm(order: ClockOrder): boolean {
    const armed = this.#clock.arm(order)
    this.#tape.output({ ...outputs.ordered(order, this.#tape.messageHex), answer: armed ? undefined : false })
    return armed
  }

  withdraw(slot: number): ClockReading {
    const reading = this.#clock.withdraw(slot)
    this.#tape.output({ out: 'endClock', slot, answer: withoutLateness(reading) })
    return reading
  }

  read(slot: number): ClockReading {
    const reading = this.#clock.read(slot)
    this.#tape.answer({ in: 'rounds', slot, reading: withoutLateness(reading) })
    return reading
  }

  forget(slot: number): void {
    this.#tape.output({ out: 'forgetClock', slot })
    this.#clock.forget(slot)
  }

  release(unit: number): void {
    this.#tape.output({ out: 'releaseUnit', unit })
    this.#clock.release(unit)
  }

  cover(at: Millis): void {
    this.#tape.output({ out: 'cover', at })
    this.#clock.cover(at)
  }

  prove(): boolean {
    const isProved = this.#clock.prove()
    this.#tape.answer({ in: 'proof', given: isProved })
    return isProved
  }

  listen(onCover: () => void): void {
    this.#clock.listen(() => this.#tape.enter({ in: 'cover' }, onCover))
  }
}

const withoutLateness = (reading: ClockReading): ClockReading => ({ ...reading, latest: 0 })
