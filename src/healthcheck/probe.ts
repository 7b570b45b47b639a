/**
 * What every way of asking looks like from the monitor: a run that ends with one value, and, where the kernel reports
 * it, a source of events that say "look now". A probe never rejects and never throws; what it could not do is its
 * result. This file does not know any particular way of asking, when one is asked, or what a result comes to.
 */

import { type Millis, millis } from '../wire/units.ts'
import type { Cutoff } from './cutoff.ts'
import type { ProbeResult, Reason } from './probe-result.ts'

export type ProbeRun = {
  readonly result: Promise<ProbeResult>
  /** Nothing of the run is left: no socket, no process. Not before the result. */
  readonly ended: Promise<void>
  /** Nobody wants it any more, whether its deadline has passed or not: ends at once what aborting ends in its own time. */
  readonly abandon?: () => void
}

export type EventSource = {
  /** Called after every run: the source begins to watch once there is something to watch. Cheap when it does already. */
  afterRun(result: ProbeResult): void
  /** Nobody must listen any more. */
  close(): void
  /** Watching now. */
  readonly armed: boolean
}

export type Probe = {
  /** Aborting the signal ends the run as failed by timeout. */
  readonly start: (signal: Cutoff) => ProbeRun
  /** `onEvent` says nothing about health: it asks for a run. */
  readonly events: ((onEvent: () => void) => EventSource) | undefined
  /** What is needed once, before the first run and outside its deadline. Settles soon, whatever comes of it. */
  readonly prepare?: () => Promise<void>
  /** Nobody asks any more, and the last run has ended: lets go of what runs share. */
  readonly close?: () => void
}

/** A process that this one did not start: says once that it has ended. */
export type ProcessEnd = { readonly close: () => void }
/** undefined: it cannot be watched, or has ended already. `onEnd` is never called during the call. */
export type WatchEnd = (pid: number, onEnd: () => void) => ProcessEnd | undefined

/** CLOCK_MONOTONIC, the same in every thread of the process (performance.now() starts anew in each). */
export function monotonicNow(): Millis {
  const [seconds, nanos] = process.hrtime()
  return millis(seconds * 1000 + nanos / 1e6)
}

/** A run that is over when its result is there. */
export function asRun(result: Promise<ProbeResult>): ProbeRun {
  return { result, ended: result.then(() => undefined) }
}

/** A probe that cannot ask, and says why each time. */
export function impossibleProbe(reason: Reason, detail: string): Probe {
  return {
    start: () => asRun(Promise.resolve({ outcome: 'unknown', reason, detail, latency: millis(0) })),
    events: undefined,
  }
}
