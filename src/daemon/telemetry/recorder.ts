/**
 * Keeps counters, and log records at a limited rate. Recording is fast. The reader of the log records is attached after
 * the start and never called during a turn. For this reason neither the first advertisement nor the announcements of a
 * takeover wait for the reader. This file knows nothing about the format of a log line, and the names of metrics.
 */

import type { EngineEvent } from '../../log/log.ts'
import type { LogLevel } from '../../log/log-event.ts'
import type { LogFields } from '../../log/log-fields.ts'
import { Chronicle, type ChronicleClock, SYSTEM_CLOCKS } from './chronicle.ts'
import { RATES, suppressedField, TokenBucket } from './token-bucket.ts'

/** Fields of a log line about the event `E`. TypeScript rejects a field that the table of log events does not list. */
type FieldsOf<E extends EngineEvent, Given> = Given &
  LogFields<E['fields'][number]> & { readonly [Name in Exclude<keyof Given, E['fields'][number]>]: never }

export type LogRecord = {
  /** Time of the log record in milliseconds since the epoch. */
  readonly time: number
  readonly level: LogLevel
  /** Code of the event that the log record reports. */
  readonly event: string
  readonly message: string
  readonly fields: LogFields
}
export type LogSink = (record: LogRecord) => void
/** Calls a function after the present turn has finished. */
export type Later = (callback: () => void) => void

/** Number of log records that wait for a reader; enough for a start with 255 routers. */
const BACKLOG = 1_000
/** Number of keys whose rate is remembered. A flood from forged source addresses must not use up memory. */
const MOST_KEYS = 256

export class Recorder {
  #sink: LogSink | undefined
  #waiting: LogRecord[] = []
  /** Rate limits of log lines by key. */
  readonly #limits = new Map<string, TokenBucket>()
  /**
   * Returns the time of a clock that never goes back, in milliseconds. A change of the wall clock must not suppress
   * warnings.
   */
  readonly elapsed: () => number
  readonly #later: Later
  readonly #wall: () => number
  /** Time before which no rate limit can be removed. An earlier search for one would only cost time in a flood. */
  #fullUntil = 0
  /** Number of rate limits that were removed since `since`. */
  #lifted = { since: Number.NEGATIVE_INFINITY, keys: 0 }
  /** Number of lost log records: the backlog was full, or the reader refused the records. */
  lost = 0
  /** Event journal of this node. */
  readonly chronicle: Chronicle

  constructor(
    elapsed: () => number = () => performance.now(),
    later: Later = setImmediate,
    clocks: ChronicleClock = SYSTEM_CLOCKS,
  ) {
    this.elapsed = elapsed
    this.#later = later
    this.#wall = clocks.wall
    this.chronicle = new Chronicle(clocks)
  }

  log<E extends EngineEvent, Given extends LogFields>(event: E, message: string, fields?: FieldsOf<E, Given>): void {
    this.#write(event, message, fields ?? {})
  }

  #write({ code, level }: EngineEvent, message: string, fields: LogFields): void {
    const record: LogRecord = { time: this.#wall(), level, event: code, message, fields }
    if (this.#sink === undefined && this.#waiting.length >= BACKLOG) this.lost++
    else if (this.#waiting.push(record) === 1 && this.#sink !== undefined) this.#later(this.#deliver)
  }

  /**
   * Writes a log line that a peer can cause as often as it wants, at a limited rate (VR-RX-21). `key` names reason and
   * source.
   */
  logLimited<E extends EngineEvent, Given extends LogFields>(
    key: string,
    event: E,
    message: string,
    fields?: FieldsOf<E, Given>,
  ): void {
    this.#writeLimited(key, event, message, fields ?? {})
  }

  #writeLimited(key: string, event: EngineEvent, message: string, fields: LogFields): void {
    const now = this.elapsed()
    let bucket = this.#limits.get(key)
    if (bucket === undefined) {
      // If there are more than MOST_KEYS sources, all further ones share one limit.
      if (key !== 'others' && this.#isFull(now)) return this.#writeLimited('others', event, message, fields)
      bucket = new TokenBucket(RATES.limitedLine)
      this.#limits.set(key, bucket)
    }
    const refused = bucket.take(now)
    if (refused === undefined) return
    this.#write(event, message, refused === 0 ? fields : { ...fields, ...suppressedField(refused) })
  }

  /**
   * Lifts the limits of `subject`, the first word of its keys, after its state or its Active changed. The next line
   * about the subject is then logged immediately (VR-RX-21). In each quiet time at most as many limits are lifted as
   * there are keys. By this rule a neighbour that makes a router change its state repeatedly causes no more lines than
   * there are keys.
   */
  liftLimits(subject: string): void {
    const now = this.elapsed()
    if (now - this.#lifted.since >= RATES.limitedLine.every) this.#lifted = { since: now, keys: 0 }
    for (const key of this.#limits.keys()) {
      if (this.#lifted.keys >= MOST_KEYS) return
      if (!key.startsWith(`${subject} `)) continue
      this.#limits.delete(key)
      this.#lifted.keys++
      this.#fullUntil = 0
    }
  }

  #isFull(now: number): boolean {
    if (this.#limits.size < MOST_KEYS) return false
    if (now < this.#fullUntil) return true
    let nearest = Number.POSITIVE_INFINITY
    for (const [name, bucket] of this.#limits) {
      if (bucket.isFull(now)) this.#limits.delete(name)
      else nearest = Math.min(nearest, bucket.fullAt)
    }
    this.#fullUntil = Math.min(nearest, now + RATES.limitedLine.every)
    return this.#limits.size >= MOST_KEYS
  }

  attach(sink: LogSink): void {
    this.#sink = sink
    if (this.#waiting.length > 0) this.#later(this.#deliver)
  }

  /** Passes all waiting log records to the reader. The caller does this at the end of the process. */
  flush(): void {
    this.#deliver()
  }

  readonly #deliver = (): void => {
    const sink = this.#sink
    if (sink === undefined) return
    const records = this.#waiting
    this.#waiting = []
    for (const record of records) sink(record)
  }
}

/** Counters under one name, with one value for each key. */
export class Counters {
  readonly #values = new Map<string, number>()

  add(key: string, count = 1): void {
    this.#values.set(key, (this.#values.get(key) ?? 0) + count)
  }

  get(key: string): number {
    return this.#values.get(key) ?? 0
  }

  toJSON(): Record<string, number> {
    return Object.fromEntries(this.#values)
  }
}
