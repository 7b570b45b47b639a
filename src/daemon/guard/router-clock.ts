/**
 * The clock of one router as the engine sees it (docs/adr/0086). RouterClock tells whether the clock sends the
 * advertisements, and what the clock has sent. This file decides which rounds are new, and when a clock is late. This
 * file does not know states or frames, or when a router gets a clock (clock-duty.ts).
 */
import { type Centis, centisToMillis, type Millis, millis, plus } from '../../wire/units.ts'
import type { ClockOrder, ClockReading, GuardianPort } from '../ports.ts'

/** Number of intervals after a round. The engine then advertises by itself, before any Backup takes over. */
const COVER = 2.5
/** Milliseconds until the engine looks again whether a busy clock has ended its round. */
const LOOK = 20

/** Milliseconds without a clock after it has stopped or was late: at first, and at most. */
const FIRST_PAUSE = millis(2_000)
const LAST_PAUSE = 60_000
/** Number of rounds after which a clock runs well. */
const GOOD = 100

/** Rounds that the clock has sent since the last look. */
export type ClockNews = {
  readonly rounds: number
  /** Time of the last round that the guardian's clock has sent. */
  readonly sentAt: Millis
  readonly interval: Centis
}

/** Order of a router, and the values from which it was made. The clock ends when one of them changes. */
export type MadeOrder = {
  readonly order: ClockOrder
  readonly interval: Centis
  /** Period of duplicate address detection that the clock asks for; `undefined` if the clock does not ask. */
  readonly detection: { readonly period: Millis; readonly every: number } | undefined
  readonly madeFrom: readonly unknown[]
}

/** Values of the frames that the clock of the guardian sends; the engine needs the values while the clock runs. */
type Running = Pick<MadeOrder, 'interval' | 'detection' | 'madeFrom'> & { readonly order: Pick<ClockOrder, 'sentAt'> }

export class RouterClock {
  readonly slot: number
  readonly #guardian: Pick<GuardianPort, 'clock'>
  #made: Running | undefined
  #isAdopted = false
  /** Number of sent and of failed rounds in the slot at the time when this clock was started. */
  #before = { failed: 0, sent: 0 }
  /** Number of rounds since the start of this clock that the engine has counted already. */
  #counted = 0
  #rounds = 0
  #failures = 0
  #latest = 0
  #pause = FIRST_PAUSE
  #pausedUntil: Millis | undefined
  /** Time of the last question of duplicate address detection; `undefined` if the clock has not sent one. */
  #detectedAt: Millis | undefined
  /**
   * True from the withdrawal of the clock until the clock starts again, or the guardian itself watches the deadline.
   */
  #isEnded = false
  /**
   * Time until which the clock has to send the first round of an order; `undefined` after that round. The guardian's
   * timer does not cover an order that the guardian has not received.
   */
  #unconfirmedUntil: Millis | undefined
  /**
   * Time at which the engine looks again at a clock that stayed busy with a round; `undefined` if the clock is not
   * busy.
   */
  #lookAt: Millis | undefined

  constructor(slot: number, guardian: Pick<GuardianPort, 'clock'>) {
    this.slot = slot
    this.#guardian = guardian
  }

  /** True while the clock sends the advertisements of the router. */
  get isArmed(): boolean {
    return this.#made !== undefined
  }

  /** True from the withdrawal of the clock until takeEnded(), or the next start of the clock. */
  get isEnded(): boolean {
    return this.#isEnded
  }

  /** True if the clock may still send a round although it was withdrawn. */
  get isBusy(): boolean {
    return this.#lookAt !== undefined
  }

  /**
   * Time at which the engine has to look at the clock: it may still be busy, or has not sent the first round of its
   * order. `undefined` if no look is needed.
   */
  get lookAt(): Millis | undefined {
    return this.#lookAt ?? this.#unconfirmedUntil
  }

  /** Tells whether the clock failed to send the first round of its order in time. */
  isUnconfirmed(now: Millis): boolean {
    if (this.#unconfirmedUntil === undefined || now < this.#unconfirmedUntil) return false
    // A reading that finds a round confirms the order.
    return this.#made !== undefined && this.#look()?.sent === this.#before.sent
  }

  /** Number of rounds that the clock has sent for this router. */
  get rounds(): number {
    return this.#rounds
  }

  /** Number of rounds that the clock could not send. */
  get failures(): number {
    return this.#failures
  }

  /** Time of the clock's last question of duplicate address detection; `undefined` if it has not asked. */
  get detectedAt(): Millis | undefined {
    return this.#detectedAt
  }

  /** Tells whether the clock runs with an order that was made from these values. */
  isMadeFrom(values: readonly unknown[]): boolean {
    const made = this.#made?.madeFrom
    return made !== undefined && made.length === values.length && made.every((value, i) => value === values[i])
  }

  /**
   * True while the clock still sends the frames of an engine that crashed. These frames stay until the router is at
   * rest, or an event ends the clock.
   */
  get isAdopted(): boolean {
    return this.#isAdopted && this.isArmed
  }

  /** Adopts the clock that a crashed engine has started. Returns the time of its last round. */
  adopt(interval: Centis, now: Millis): Millis {
    const reading = this.#look()
    const sentAt = reading?.sentAt ?? now
    if (reading !== undefined) this.#before = { failed: reading.failed, sent: reading.sent }
    this.#made = { order: { sentAt }, interval, detection: undefined, madeFrom: [] }
    this.#isAdopted = true
    return sentAt
  }

  /** Starts the clock of this router. Returns false if the clock is still busy, or if there is no clock. */
  arm(made: MadeOrder): boolean {
    const { clock } = this.#guardian
    if (clock === undefined) return false
    // Rounds after this reading belong to the new order.
    const { failed, sent } = clock.read(this.slot)
    if (!clock.arm(made.order)) return false
    this.#before = { failed, sent }
    this.#counted = 0
    this.#detectedAt = undefined
    this.#made = made
    this.#isAdopted = false
    this.#isEnded = false
    this.#unconfirmedUntil = plus(made.order.sentAt, COVER * centisToMillis(made.interval))
    return true
  }

  /**
   * Stops the clock of this router. Returns the rounds that are new; `undefined` without new rounds, or if the clock
   * did not run.
   */
  withdraw(): ClockNews | undefined {
    const { clock } = this.#guardian
    if (clock === undefined || this.#made === undefined) return undefined
    const reading = clock.withdraw(this.slot)
    const news = this.#newsIn(reading)
    this.#made = undefined
    this.#isEnded = true
    this.#unconfirmedUntil = undefined
    // The next look is due immediately.
    if (reading.isBusy) this.#lookAt = millis(0)
    return news
  }

  /** Returns the new rounds of the clock; `undefined` if there are none, or if the clock does not run. */
  read(): ClockNews | undefined {
    const reading = this.#made === undefined ? undefined : this.#look()
    return reading && this.#newsIn(reading)
  }

  /** Returns true once, when the clock has ended the round that kept it busy. */
  takeFreed(now: Millis): boolean {
    if (this.#lookAt === undefined || now < this.#lookAt) return false
    if (this.#look()?.isBusy === true) {
      this.#lookAt = plus(now, LOOK)
      return false
    }
    this.#lookAt = undefined
    return true
  }

  /** Returns true once after a withdrawal of the clock that no new start has followed. */
  takeEnded(): boolean {
    const isEnded = this.#isEnded
    this.#isEnded = false
    return isEnded
  }

  /** Returns the time at which the engine has to advertise by itself; `undefined` if the clock does not run. */
  coverAt(): Millis | undefined {
    return this.#made === undefined ? undefined : this.#coverAt(this.#made)
  }

  /** True if the clock has stopped by itself. */
  get hasStopped(): boolean {
    return this.#made !== undefined && this.#look()?.isStopped === true
  }

  /**
   * Keeps the clock of this router from being started for a time, which doubles each time until the clock runs well.
   */
  pause(now: Millis): void {
    this.#pausedUntil = plus(now, this.#pause)
    this.#pause = millis(Math.min(2 * this.#pause, LAST_PAUSE))
  }

  /** Tells whether the clock may not be started yet. */
  isPaused(now: Millis): boolean {
    return this.#pausedUntil !== undefined && now < this.#pausedUntil
  }

  /** Tells whether the clock has stopped by itself, or has not sent its rounds. */
  isLate(now: Millis): boolean {
    if (this.#made === undefined) return false
    return this.hasStopped || now >= this.#coverAt(this.#made)
  }

  /** Greatest lateness of a round in milliseconds. */
  get latest(): number {
    return this.#latest
  }

  /** Deletes the router's order to the clock, because the router is no longer Active. */
  forget(): void {
    this.#guardian.clock?.forget(this.slot)
  }

  #coverAt({ interval, order }: Running): Millis {
    const sentAt = this.#look()?.sentAt ?? order.sentAt
    return plus(sentAt, COVER * centisToMillis(interval))
  }

  /** Reads the router's slot in shared memory. Every reading sets the measured lateness of the clock to 0. */
  #look(): ClockReading | undefined {
    const reading = this.#guardian.clock?.read(this.slot)
    if (reading !== undefined) this.#latest = Math.max(this.#latest, reading.latest)
    return reading
  }

  #newsIn({ failed, latest, sent, sentAt }: ClockReading): ClockNews | undefined {
    const made = this.#made
    this.#failures += failed - this.#before.failed
    this.#before.failed = failed
    this.#latest = Math.max(this.#latest, latest)
    const total = sent - this.#before.sent
    const rounds = total - this.#counted
    if (made === undefined || sentAt === undefined || rounds <= 0) return undefined
    this.#unconfirmedUntil = undefined
    this.#counted = total
    if (total >= GOOD) this.#pause = FIRST_PAUSE
    this.#rounds += rounds
    const { detection, interval } = made
    if (detection !== undefined) {
      // Rounds are numbered from 0. A round asks for duplicates if `every` divides its number.
      const since = (sent - 1) % detection.every
      if (since < rounds) this.#detectedAt = plus(sentAt, -since * centisToMillis(interval))
    }
    return { rounds, sentAt, interval }
  }
}
