/**
 * Records the inputs and the actions of an engine, line by line, in order. This file decides which calls are made by
 * the engine, and which by another part of the daemon. By this distinction, an event that the engine recorded differs
 * from an event that it received. A tape that has ended costs nothing. This file knows nothing about ports
 * (taped-ports.ts), and the file (recording-file.ts).
 */
import type { Config } from '../config/config.ts'
import type { Clock } from '../daemon/ports.ts'
import { type ChronicleClock, SYSTEM_CLOCKS } from '../daemon/telemetry/chronicle.ts'
import { type Later, Recorder } from '../daemon/telemetry/recorder.ts'
import type { JournalEvent } from '../events/event.ts'
import type { Millis } from '../wire/units.ts'
import { configLine, type NewInput, type NewOutput } from './lines.ts'
import { type HexOf, plainHex } from './outputs.ts'
import { Secrets, withoutDetail } from './secrets.ts'

/** Takes a line of the recording. The engine does not depend on whether it is written. */
export type LineSink = (line: object) => void

type ReadClock = 'now' | 'random' | 'wall' | 'elapsed' | 'mono'
type NewReads = { [clock in ReadClock]?: number[] } & { asleep?: Millis }

/** Milliseconds. A smaller difference between two clocks is the time between two readings (linux/clock.ts). */
const NO_SLEEP = 1

export class Tape {
  readonly #put: LineSink
  readonly #secrets = new Secrets()
  #reads: NewReads | undefined
  /** True while the engine itself runs, false while another part that it calls runs. */
  #inside = false
  #depth = 0
  #turns = 0
  #isOn = true
  #asleep: Millis | undefined

  constructor(put: LineSink) {
    this.#put = put
  }

  /**
   * Returns the Recorder for the engine, and for other parts that write to its journal. No other Recorder may use this
   * tape.
   */
  recorder(
    elapsed: () => number = () => performance.now(),
    later: Later = setImmediate,
    clocks: ChronicleClock = SYSTEM_CLOCKS,
  ): Recorder {
    const recorder = new Recorder(() => this.read('elapsed', elapsed()), later, {
      wall: () => this.read('wall', clocks.wall()),
      monotonic: () => this.read('mono', clocks.monotonic()),
    })
    let latest = 0
    recorder.chronicle.subscribe((recorded) => {
      const event = ofThisLife(withoutDetail(recorded), ++latest)
      if (this.#inside) this.output({ out: 'event', event })
      else this.input({ in: 'fact', event })
    })
    return recorder
  }

  /** Records an input, and runs the engine's reaction. */
  enter<T>(line: NewInput, act: () => T): T {
    if (!this.#isOn) return act()
    this.input(line)
    const before = this.#inside
    this.#inside = true
    this.#depth++
    try {
      return act()
    } finally {
      this.#inside = before
      this.#depth--
    }
  }

  /** Runs another part of the daemon that the engine calls, and that may call the engine. */
  outside<T>(act: () => T): T {
    const before = this.#inside
    this.#inside = false
    try {
      return act()
    } finally {
      this.#inside = before
    }
  }

  input(line: NewInput): void {
    if (this.#isOn) this.#write(this.#depth === 0 ? { turn: ++this.#turns, ...line } : line)
  }

  /** Records the answer that a port of the engine (kernel, clock, files) gave to a call of the engine. */
  answer(line: NewInput): void {
    if (this.#inside) this.input(line)
  }

  output(line: NewOutput): void {
    if (this.#isOn) this.#write(line)
  }

  /** Records a clock value that the engine reads. Readings of other parts are not recorded. */
  read<T extends number>(clock: ReadClock, value: T): T {
    if (!this.#inside || !this.#isOn) return value
    this.#reads ??= {}
    const read = this.#reads[clock]
    if (read === undefined) this.#reads[clock] = [value]
    else read.push(value)
    return value
  }

  /** Records the time for which the machine was suspended, if that time has changed. */
  asleep(clock: Clock): Millis {
    const asleep = clock.asleep()
    if (!this.#inside || !this.#isOn) return asleep
    if (this.#asleep === undefined || Math.abs(asleep - this.#asleep) > NO_SLEEP) {
      this.#asleep = asleep
      this.#reads ??= {}
      this.#reads.asleep = asleep
    }
    return this.#asleep
  }

  /** Returns the configuration without secrets. */
  configured(config: Config): Config {
    if (!this.#isOn) return config
    return configLine.parse(this.#secrets.config(config))
  }

  /** Returns the octets of a packet whose VRRP message begins at `start`. */
  hexOf(bytes: Uint8Array, start: number): string {
    return plainHex(this.#secrets.packet(bytes, start))
  }

  /** Returns the octets of a VRRP message as hexadecimal text. */
  readonly messageHex: HexOf = (bytes) => this.hexOf(bytes, 0)

  /** Writes the last line of the recording. Later lines are ignored. */
  end(reason: string): void {
    if (this.#isOn) this.#write({ end: reason })
    this.off()
  }

  off(): void {
    this.#isOn = false
    this.#reads = undefined
  }

  get isOn(): boolean {
    return this.#isOn
  }

  /** True while the engine itself runs, not another part. */
  get isInside(): boolean {
    return this.#inside
  }

  #write(line: object): void {
    if (this.#reads === undefined) return this.#put(line)
    this.#put({ ...line, ...this.#reads })
    this.#reads = undefined
  }
}

/**
 * Returns the event with a number for this recording. The event journal continues the numbers of an earlier run
 * (chronicle.ts). A recording contains one run only: its events begin at 1, and earlier causes are not in the
 * recording.
 */
function ofThisLife(event: JournalEvent, seq: number): JournalEvent {
  const { because, ...rest } = event
  const before = event.seq - seq
  return { ...rest, seq, ...(because === undefined || because <= before ? {} : { because: because - before }) }
}
