/**
 * Report of the thread that runs checks about one check. Values only, which can be sent to another thread. This file
 * does not know its readers.
 */
import type { Millis } from '../wire/units.ts'
import type { Standing, Verdict } from './health.ts'
import type { Reason } from './probe-result.ts'

export type CheckReport = {
  readonly check: string
  readonly verdict: Verdict
  readonly standing: Standing
  /** Time since which the check has its result, by CLOCK_MONOTONIC, which is the same in every thread. */
  readonly since: Millis
  /** The last run of the check; `undefined` before its first run. */
  readonly last:
    | {
        readonly at: Millis
        readonly ok: boolean
        readonly reason: Reason
        readonly detail: string
        readonly latency: Millis
      }
    | undefined
  /** Integer that a file of weights contains. */
  readonly weight: number | undefined
  /** Whether events of the kernel are watched. Otherwise only the next run notices a change. */
  readonly watched: boolean
  readonly runs: number
  /** Number of runs of this thread by reason. Reasons that did not occur are missing. */
  readonly results: Readonly<Partial<Record<Reason, number>>>
  /** Number of slots that passed during a run. */
  readonly skipped: number
}

/** Last result of a check that starts again, in a new worker or after a reload. */
export type Former = Pick<CheckReport, 'since' | 'weight'> & { readonly verdict: 'up' | 'down' }
