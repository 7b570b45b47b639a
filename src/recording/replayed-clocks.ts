/**
 * Clocks of a replayed engine. Each recorded clock value is part of the line after its reading (lines.ts). This file
 * decides that an engine that reads a clock more often than the recorded engine gets the last value again, because a
 * reading is no action.
 */
import { type Millis, millis } from '../wire/units.ts'
import type { Line, Reads } from './lines.ts'

export type Clocked = Exclude<keyof Reads, 'asleep'>

export class ReplayedClocks {
  readonly #peek: () => Line | undefined
  #line: Line | undefined
  #used: Partial<Record<Clocked, number>> = {}
  readonly #last: Record<Clocked, number> = { now: 0, random: 0, wall: 0, elapsed: 0, mono: 0 }
  #asleep: Millis = millis(0)

  constructor(peek: () => Line | undefined) {
    this.#peek = peek
  }

  read(clock: Clocked): number {
    const reads = this.#ahead()
    const used = this.#used[clock] ?? 0
    const value = reads?.[clock]?.[used]
    if (value === undefined) return this.#last[clock]
    this.#used[clock] = used + 1
    this.#last[clock] = value
    return value
  }

  now(): Millis {
    return millis(this.read('now'))
  }

  asleep(): Millis {
    this.#asleep = this.#ahead()?.asleep ?? this.#asleep
    return this.#asleep
  }

  /** Sets the clocks to the time of an event that another part of the daemon recorded. */
  set(wall: number, mono: number): void {
    this.#last.wall = wall
    this.#last.mono = mono
  }

  /** Last reading of CLOCK_MONOTONIC. */
  get latest(): number {
    return Math.max(this.#last.now, this.#last.mono)
  }

  #ahead(): Reads | undefined {
    const line = this.#peek()
    if (line !== this.#line) {
      this.#line = line
      this.#used = {}
    }
    if (line === undefined || line.kind === 'gap') return undefined
    return line.kind === 'in' ? line.input : line.kind === 'out' ? line.output : line.reads
  }
}
