/**
 * What one run of a probe found, as a value. Decided here: the reasons, which are the words of logs and metric labels.
 * This file does not know how anything is asked, nor what a result comes to.
 */
import type { Millis } from '../wire/units.ts'
import type { Outcome } from './health.ts'

/** Why a run ended as it did: the words of logs and metric labels. */
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
  /** For people: what was found, and what was wanted. */
  readonly detail: string
  readonly latency: Millis
  /** What a file of weights holds. */
  readonly value?: number
}
