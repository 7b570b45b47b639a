/**
 * What the thread that checks tells of one check: values only, ready to cross a thread boundary. This file does not
 * know who reads it.
 */
import type { Millis } from '../wire/units.ts'
import type { Standing, Verdict } from './health.ts'
import type { Reason } from './probe-result.ts'

export type CheckReport = {
  readonly check: string
  readonly verdict: Verdict
  readonly standing: Standing
  /** Of the verdict; CLOCK_MONOTONIC, as every thread of the process reads it. */
  readonly since: Millis
  /** The last run; undefined before the first one. */
  readonly last:
    | {
        readonly at: Millis
        readonly ok: boolean
        readonly reason: Reason
        readonly detail: string
        readonly latency: Millis
      }
    | undefined
  /** What a file of weights holds. */
  readonly weight: number | undefined
  /** Events are listened for now; without them only polls notice. */
  readonly watched: boolean
  readonly runs: number
  /** How the runs of this thread ended; reasons that did not occur are missing. */
  readonly results: Readonly<Partial<Record<Reason, number>>>
  /** Slots that passed while a run was under way. */
  readonly skipped: number
}

/** What stood before, for a check that starts again: in another thread, or after a reload. */
export type Former = Pick<CheckReport, 'since' | 'weight'> & { readonly verdict: 'up' | 'down' }
