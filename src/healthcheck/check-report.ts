/**
 * Report about one health check, made by the thread that runs the checks. A report has values only, so it can be sent
 * to another thread.
 */
import type { Millis } from '../wire/units.ts'
import type { CheckResult, CountsAs } from './health.ts'
import type { Reason } from './probe-result.ts'

export type CheckReport = {
  readonly check: string
  readonly result: CheckResult
  readonly countsAs: CountsAs
  /** Time since which the check has its current result, by CLOCK_MONOTONIC, which is the same in every thread. */
  readonly since: Millis
  /** Result of the last run of the check; `undefined` before its first run ended. */
  readonly last:
    | {
        readonly at: Millis
        readonly ok: boolean
        readonly reason: Reason
        readonly detail: string
        readonly latency: Millis
      }
    | undefined
  /** Integer in the watched file, if the check is a file of weights (VR-TRK-09); otherwise `undefined`. */
  readonly weight: number | undefined
  /**
   * True if the kernel reports changes as events. Without such events, only the next run of the check notices a change.
   */
  readonly watched: boolean
  readonly runs: number
  /** Number of runs of the check in this thread by reason. Reasons that did not occur are missing. */
  readonly results: Readonly<Partial<Record<Reason, number>>>
  /** Number of planned runs that were skipped because the check still ran. */
  readonly skipped: number
}

/** Last result of a health check that starts again, in a new worker or after a reload. */
export type Former = Pick<CheckReport, 'since' | 'weight'> & { readonly result: 'up' | 'down' }
