/**
 * The clock of one simulated node, and its timers. The clock may run fast or slow, stops while the machine stops, and
 * its wall clock may be stepped. The timers of a stopped process are held back, and fire first when the process
 * continues.
 */
import { type Millis, millis } from '../../wire/units.ts'
import type { Cancel, VirtualTime } from '../virtual-time.ts'

/**
 * Start of a simulated clock in milliseconds. A clock that begins at 0 would hide deadlines that are counted from 0.
 */
const ORIGIN = 50_000
/** Start of the wall clock: 2026-01-01, in milliseconds since the epoch. */
const EPOCH = 1_767_225_600_000

export class LocalClock {
  readonly #time: VirtualTime
  readonly #rate: number
  /** Virtual milliseconds for which the node stood still without noticing it. */
  #stood = 0
  #stoodSince: number | undefined
  /** CLOCK_BOOTTIME minus CLOCK_MONOTONIC of the node, in milliseconds. */
  #asleep = 0
  #wallOffset = EPOCH

  /** Creates the clock of a simulated node. `rate`: 1 = the clock is right. */
  constructor(time: VirtualTime, rate: number) {
    this.#time = time
    this.#rate = rate
  }

  now(): Millis {
    return millis(Math.round((ORIGIN + this.#run() * this.#rate) * 1_000) / 1_000)
  }

  wall(): number {
    return this.now() + this.#wallOffset
  }

  asleep(): Millis {
    return millis(this.#asleep)
  }

  stepWall(by: number): void {
    this.#wallOffset += by
  }

  /** Returns the virtual milliseconds from now until `at`. */
  until(at: number): number {
    return Math.max(0, (at - this.now()) / this.#rate)
  }

  stand(): void {
    this.#stoodSince = this.#time.now
  }

  /**
   * Continues after the machine stood still. `noticed`: the kernel knows the duration (suspend); with a hypervisor the
   * kernel does not.
   */
  goOn(noticed: boolean): void {
    if (this.#stoodSince === undefined) return
    const stood = this.#time.now - this.#stoodSince
    this.#stoodSince = undefined
    this.#stood += stood
    if (noticed) this.#asleep += stood
  }

  #run(): number {
    return (this.#stoodSince ?? this.#time.now) - this.#stood
  }
}

type Timer = { readonly at: number; readonly act: () => void; cancel: Cancel; readonly order: number }

/** Timers of one process, or of a kernel. */
export class Timers {
  readonly #time: VirtualTime
  readonly #clock: LocalClock
  /** Returns by how many milliseconds a timer fires late. */
  readonly #late: () => number
  readonly #set = new Set<Timer>()
  #order = 0
  #held = false

  constructor(time: VirtualTime, clock: LocalClock, late: () => number = () => 0) {
    this.#time = time
    this.#clock = clock
    this.#late = late
  }

  /** Calls `act` after this time by the node's clock. */
  after(wait: number, act: () => void): Cancel {
    const timer: Timer = { at: this.#clock.now() + wait, act, cancel: () => {}, order: this.#order++ }
    this.#set.add(timer)
    this.#arm(timer)
    return () => {
      this.#set.delete(timer)
      timer.cancel()
    }
  }

  /** Holds back all timers of the process from now on. */
  hold(): void {
    this.#held = true
    for (const timer of this.#set) timer.cancel()
  }

  /** Fires the timers that are due, in order. The other timers continue. */
  release(): void {
    this.#held = false
    const now = this.#clock.now()
    for (const timer of [...this.#set].sort((one, other) => one.at - other.at || one.order - other.order)) {
      if (timer.at <= now) this.#fire(timer)
      else if (this.#set.has(timer)) this.#arm(timer)
    }
  }

  clear(): void {
    for (const timer of this.#set) timer.cancel()
    this.#set.clear()
  }

  #arm(timer: Timer): void {
    timer.cancel()
    if (this.#held) return
    timer.cancel = this.#time.after(this.#clock.until(timer.at) + this.#late(), () => this.#fire(timer))
  }

  #fire(timer: Timer): void {
    if (this.#set.delete(timer)) timer.act()
  }
}
