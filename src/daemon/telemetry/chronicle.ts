/**
 * The event journal in memory: gives each fact its number and both clocks, keeps the last ones, and hands them to
 * listeners (the file, the API). Recording costs an object and no system call, because it happens between a decision
 * and the next packet. Decided here: how many are kept, and that numbers go on where an earlier run ended. Refuses to
 * know files, and what an event means.
 */
import { hostname } from 'node:os'
import { causeOf } from '../../events/cause.ts'
import type { Fact, JournalEvent } from '../../events/event.ts'
import type { EventPage } from '../../events/event-page.ts'

export type EventListener = (event: JournalEvent) => void

/** Events of a day of a quiet cluster, or of the last minutes of a noisy one; some 500 octets each. */
export const MOST_KEPT = 1_000
/** Events of one page. */
export const LARGEST_PAGE = 1_000

export type ChronicleClock = {
  /** Milliseconds since the epoch. */
  readonly wall: () => number
  /** CLOCK_MONOTONIC, milliseconds. */
  readonly monotonic: () => number
}

export const SYSTEM_CLOCKS: ChronicleClock = {
  wall: () => Date.now(),
  monotonic: () => Number(process.hrtime.bigint()) / 1e6,
}

export class Chronicle {
  readonly #clock: ChronicleClock
  #events: JournalEvent[] = []
  #latest = 0
  /** Path of the journal, for readers of a page; `null`: events are in memory alone. */
  file: string | null = null
  readonly #listeners = new Set<EventListener>()

  constructor(clock: ChronicleClock = SYSTEM_CLOCKS) {
    this.#clock = clock
  }

  record(fact: Fact): void {
    const seq = ++this.#latest
    const at = new Date(this.#clock.wall()).toISOString()
    const monotonicMs = this.#now()
    const because = causeOf(fact, this.#events, monotonicMs)
    const event: JournalEvent = { seq, at, monotonicMs, ...(because === undefined ? {} : { because }), ...fact }
    this.#events.push(event)
    // In steps, because each one copies.
    if (this.#events.length >= 2 * MOST_KEPT) this.#events = this.#events.slice(-MOST_KEPT)
    for (const listener of this.#listeners) listener(event)
  }

  /**
   * Takes the events of an earlier run: those recorded meanwhile are numbered behind them. Call it once, before a
   * listener or a reader comes.
   */
  continue(earlier: readonly JournalEvent[]): void {
    const base = earlier.at(-1)?.seq ?? 0
    const renumbered = this.#events.map((event) => ({
      ...event,
      seq: event.seq + base,
      ...(event.because === undefined ? {} : { because: event.because + base }),
    }))
    this.#events = [...earlier, ...renumbered].slice(-MOST_KEPT)
    this.#latest += base
  }

  /** Returns the events after this number, the oldest first; without a number the last ones. At most LARGEST_PAGE. */
  read({ after, limit = LARGEST_PAGE }: { readonly after?: number; readonly limit?: number } = {}): EventPage {
    const kept = this.#events.slice(-MOST_KEPT)
    const most = Math.max(0, Math.min(limit, LARGEST_PAGE))
    const wanted =
      after === undefined
        ? kept.slice(Math.max(0, kept.length - most))
        : kept.filter(({ seq }) => seq > after).slice(0, most)
    return {
      version: 1,
      hostname: hostname(),
      now: { at: new Date(this.#clock.wall()).toISOString(), monotonicMs: this.#now() },
      file: this.file,
      oldest: kept[0]?.seq ?? null,
      latest: kept.at(-1)?.seq ?? null,
      events: wanted,
    }
  }

  /** Calls `listener` with each event while it is recorded: it must not throw, nor take long. Returns how to end it. */
  subscribe(listener: EventListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  #now(): number {
    return Math.round(this.#clock.monotonic() * 1_000) / 1_000
  }
}
