/**
 * Result of one run of a probe, as a value. This file decides the reasons of results, which are used in logs and metric
 * labels. `probe-result.ts` does not know how a probe works, nor how a result counts.
 */
import type { Millis } from '../wire/units.ts'
import type { Outcome } from './health.ts'

/** Reason why a run of a check has its result, used in fields of the log and in metric labels. */
export type Reason =
  | 'ok'
  | 'timeout'
  | 'nameNotFound'
  | 'nameUnanswered'
  | 'connectionRefused'
  | 'connectionReset'
  | 'connectFailed'
  | 'tlsFailed'
  | 'certificateRefused'
  | 'badAnswer'
  | 'status'
  | 'contentMissing'
  | 'tooManyRedirects'
  | 'exitStatus'
  | 'killedBySignal'
  | 'notRunnable'
  | 'scriptUnsafe'
  | 'userNotPermitted'
  | 'missing'
  | 'unreadable'
  | 'notANumber'
  | 'notPossible'

export type ProbeResult = {
  readonly outcome: Outcome
  readonly reason: Reason
  /** Text for people: what the probe found, and what was expected. */
  readonly detail: string
  readonly latency: Millis
  /** Integer that a file of weights contained (VR-TRK-09); absent for other checks. */
  readonly value?: number
}
