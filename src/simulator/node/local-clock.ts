/**
 * Models the clock of one node and its timers. The clock may run fast or slow, and stops while the machine is stopped.
 * The wall clock of a node may be set to another time. The timers of a stopped process do not fire until the process
 * continues, and then fire first.
 */
import { type Millis, millis } from '../../wire/units.ts'
import type { Cancel, VirtualTime } from '../virtual-time.ts'

/**
 * Time in ms at which a node's clock begins. A clock that began at 0 would hide errors of deadlines that are counted
 * from 0.
 */
const ORIGIN = 50_000
/** Wall clock time at the start of a simulation: 2026-01-01, in milliseconds since the epoch. */
const EPOCH = 1_767_225_600_000

export class LocalClock {
  readonly #time: VirtualTime
  readonly #rate: number
  /** Virtual milliseconds for which the machine was stopped without a trace in its clock (by a hypervisor). */
  #stood = 0
  #stoodSince: number | undefined
  /** Milliseconds of suspension: CLOCK_BOOTTIME minus CLOCK_MONOTONIC. */
  #asleep = 0
  #wallOffset = EPOCH

  /** Creates the clock. `rate`: speed of the clock; 1 is the right speed. */
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

  /** Returns the virtual milliseconds from now until the clock shows `at`. */
  until(at: number): number {
    return Math.max(0, (at - this.now()) / this.#rate)
  }

  stand(): void {
    this.#stoodSince = this.#time.now
  }

  /**
   * Continues the clock after the machine was stopped. `noticed`: the kernel knows for how long (suspend). After a stop
   * by a hypervisor, the kernel does not know that.
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

/** Timers of one process, or of the kernel. */
export class Timers {
  readonly #time: VirtualTime
  readonly #clock: LocalClock
  /** Returns by how many milliseconds the next timer fires too late. */
  readonly #late: () => number
  readonly #set = new Set<Timer>()
  #order = 0
  #held = false

  constructor(time: VirtualTime, clock: LocalClock, late: () => number = () => 0) {
    this.#time = time
    this.#clock = clock
    this.#late = late
  }

  /** Calls `act` after `wait` ms of the node's clock. Returns the function that cancels the timer. */
  after(wait: number, act: () => void): Cancel {
    const timer: Timer = { at: this.#clock.now() + wait, act, cancel: () => {}, order: this.#order++ }
    this.#set.add(timer)
    this.#arm(timer)
    return () => {
      this.#set.delete(timer)
      timer.cancel()
    }
  }

  /** Stops all timers of the process: from now on none of them fires. */
  hold(): void {
    this.#held = true
    for (const timer of this.#set) timer.cancel()
  }

  /** Fires the timers that became due during the stop, in order. All other timers continue. */
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
