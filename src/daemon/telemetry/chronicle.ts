/**
 * The event journal in memory. The journal gives each event its number and the time of both clocks, stores the last
 * events, and passes them to listeners (the file, the API). Recording an event allocates one object and makes no system
 * call, because it happens between a decision and the next packet. This file decides how many events are stored.
 * Numbers continue where the previous run of the daemon ended. This file knows nothing about files, and the meaning of
 * an event.
 */

import { hostname } from 'node:os'
import { defined } from '../../base/defined.ts'
import { causeOf } from '../../events/cause.ts'
import type { Fact, JournalEvent } from '../../events/event.ts'
import type { EventPage } from '../../events/event-page.ts'

export type EventListener = (event: JournalEvent) => void

/**
 * Number of stored events, of some 500 octets each. This number of events covers a day of a quiet cluster, or the last
 * minutes of a noisy one.
 */
export const MOST_KEPT = 1_000
/** Largest number of events in one page of the API. */
export const LARGEST_PAGE = 1_000

export type ChronicleClock = {
  /** Returns milliseconds since the epoch (wall clock). */
  readonly wall: () => number
  /** Returns CLOCK_MONOTONIC in milliseconds. */
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
  /** Path of the journal file, for readers of a page; `null` = events are in memory only. */
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
    const event: JournalEvent = { seq, at, monotonicMs, ...defined({ because }), ...fact }
    this.#events.push(event)
    // Old events are removed many at a time, because each removal copies the list.
    if (this.#events.length >= 2 * MOST_KEPT) this.#events = this.#events.slice(-MOST_KEPT)
    for (const listener of this.#listeners) listener(event)
  }

  /**
   * Adds the events of the previous run. Events recorded before this call get higher numbers. The caller must do this
   * once, before any listener or reader exists.
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

  /**
   * Returns the events after the number `after`, the oldest first; without a number the last events. At most
   * LARGEST_PAGE events.
   */
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

  /**
   * Calls `listener` with each event while the event is recorded. The listener must not throw, and must be fast.
   * Returns the function that ends the subscription.
   */
  subscribe(listener: EventListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  #now(): number {
    return Math.round(this.#clock.monotonic() * 1_000) / 1_000
  }
}
