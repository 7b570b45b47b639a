/**
 * Interface of all probes: a run that ends with one result, and a source of events if the kernel reports changes. An
 * event triggers a run. A probe never rejects and never throws; an error is reported as the result of the run.
 * `probe.ts` does not know a particular probe, when a probe runs, or how a result counts.
 */

import { type Millis, millis } from '../wire/units.ts'
import type { Cutoff } from './cutoff.ts'
import type { ProbeResult, Reason } from './probe-result.ts'

export type ProbeRun = {
  readonly result: Promise<ProbeResult>
  /** Resolves when no socket or process of the run is left. Never resolves before the result of the run. */
  readonly ended: Promise<void>
  /**
   * Ends the run immediately, because its result is no longer needed. The signal of `start`, in contrast, gives the run
   * time to end.
   */
  readonly abandon?: () => void
}

export type EventSource = {
  /**
   * Called after every run of the check. Starts watching (a file, a process, a connection) if that is possible now.
   * Costs little if the event source already watches.
   */
  afterRun(result: ProbeResult): void
  /** Stops the event source. */
  close(): void
  /** True if the event source watches now. */
  readonly armed: boolean
}

export type Probe = {
  /** Starts a run of the check. If the signal is aborted, the run ends as failed by timeout. */
  readonly start: (signal: Cutoff) => ProbeRun
  /** Makes the event source of the check. An event requests a run, and is not itself a result. */
  readonly events: ((onEvent: () => void) => EventSource) | undefined
  /** Prepares the first run of the check before its timeout begins. Settles soon, also after a failure. */
  readonly prepare?: () => Promise<void>
  /** Releases shared resources after the last run of the check has ended. */
  readonly close?: () => void
}

/** Watches a process that this process did not start, and reports its end. */
export type ProcessEnd = { readonly close: () => void }
/**
 * Calls `onEnd` when the process ends, never during the call. Returns `undefined` if the process cannot be watched or
 * has already ended.
 */
export type WatchEnd = (pid: number, onEnd: () => void) => ProcessEnd | undefined

/** Returns CLOCK_MONOTONIC, which is the same in all threads. performance.now() starts at 0 in each thread. */
export function monotonicNow(): Millis {
  const [seconds, nanos] = process.hrtime()
  return millis(seconds * 1000 + nanos / 1e6)
}

/** Returns a run that leaves no process or socket behind. A run of this kind has ended when its result is known. */
export function asRun(result: Promise<ProbeResult>): ProbeRun {
  return { result, ended: result.then(() => undefined) }
}

/** Returns a probe that cannot run and reports the same reason in each run. */
export function impossibleProbe(reason: Reason, detail: string): Probe {
  return {
    start: () => asRun(Promise.resolve({ outcome: 'unknown', reason, detail, latency: millis(0) })),
    events: undefined,
  }
}
