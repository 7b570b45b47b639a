/**
 * Writes down what an engine is told and what it does, line by line, in the order in which it happens. Decided here: what is
 * inside the engine and what is somebody else's, which is the difference between an event that it has recorded and one that
 * it was handed; and that a tape which has ended costs nothing any more. Refuses to know ports (taped-ports.ts) and where
 * the lines go (recording-file.ts).
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

/** Takes a line; whether it is written is not the engine's business. */
export type LineSink = (line: object) => void

type ReadClock = 'now' | 'random' | 'wall' | 'elapsed' | 'mono'
type NewReads = { [clock in ReadClock]?: number[] } & { asleep?: Millis }

/** Two clocks are read one after the other: less than that is no sleep (linux/clock.ts). */
const NO_SLEEP = 1

export class Tape {
  readonly #put: LineSink
  readonly #secrets = new Secrets()
  #reads: NewReads | undefined
  /** The engine is at work, and not somebody whom it has called. */
  #inside = false
  #depth = 0
  #turns = 0
  #isOn = true
  #asleep: Millis | undefined

  constructor(put: LineSink) {
    this.#put = put
  }

  /** For the engine and for whoever writes into its journal; no other one belongs to this tape. */
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
    recorder.chronicle.subscribe((told) => {
      const event = ofThisLife(withoutDetail(told), ++latest)
      if (this.#inside) this.output({ out: 'event', event })
      else this.input({ in: 'fact', event })
    })
    return recorder
  }

  /** The engine is told something and does what it does about it. */
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

  /** Somebody is called by the engine, and may come back. */
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

  /** What it was told by something that it has asked, and by nobody else. */
  answer(line: NewInput): void {
    if (this.#inside) this.input(line)
  }

  output(line: NewOutput): void {
    if (this.#isOn) this.#write(line)
  }

  /** Whoever else looks at a clock changes nothing. */
  read<T extends number>(clock: ReadClock, value: T): T {
    if (!this.#inside || !this.#isOn) return value
    this.#reads ??= {}
    const read = this.#reads[clock]
    if (read === undefined) this.#reads[clock] = [value]
    else read.push(value)
    return value
  }

  /** What the clock has said, as long as it says the same. */
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

  /** As far as it is anybody's business. */
  configured(config: Config): Config {
    if (!this.#isOn) return config
    return configLine.parse(this.#secrets.config(config))
  }

  /** Of a packet whose VRRP message begins at `start`. */
  hexOf(bytes: Uint8Array, start: number): string {
    return plainHex(this.#secrets.packet(bytes, start))
  }

  /** Of a VRRP message. */
  readonly messageHex: HexOf = (bytes) => this.hexOf(bytes, 0)

  /** The last line; nothing is written behind it. */
  end(words: string): void {
    if (this.#isOn) this.#write({ end: words })
    this.off()
  }

  off(): void {
    this.#isOn = false
    this.#reads = undefined
  }

  get isOn(): boolean {
    return this.#isOn
  }

  /** The engine itself asks. */
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
 * A journal goes on where an earlier life ended, as soon as it knows where that was (chronicle.ts). A recording is of one
 * life: its events are numbered from 1, and what led to one of them before that is not in it.
 */
function ofThisLife(event: JournalEvent, seq: number): JournalEvent {
  const { because, ...rest } = event
  const before = event.seq - seq
  return { ...rest, seq, ...(because === undefined || because <= before ? {} : { because: because - before }) }
}
