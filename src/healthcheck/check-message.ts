/**
 * Messages between the engine and the thread that runs health checks. Messages are values only. `check-message.ts` does
 * not know which thread runs the checks, or how often messages are sent.
 */
import type { Millis } from '../wire/units.ts'
import type { CheckSpec } from './check.ts'
import type { CheckReport, Former } from './check-report.ts'

export type Formerly = Former & { readonly check: string }

/** Names of health checks to repeat: checks that count as up, and checks that count as down. */
export type Asked = { readonly up: readonly string[]; readonly down: readonly string[] }

export type CheckOrder =
  | {
      readonly kind: 'setChecks'
      readonly checks: readonly CheckSpec[]
      /**
       * Last result of each health check that the engine has. A restarted check worker continues from these results.
       */
      readonly formerly: readonly Formerly[]
    }
  /**
   * Repeats each of these health checks before a takeover by fastPreempt (docs/architecture.md, Protocol decisions). A
   * run that contradicts the check's last result counts immediately.
   */
  | { readonly kind: 'askOnceMore'; readonly id: number; readonly asked: Asked; readonly within: Millis }
  | { readonly kind: 'stopChecks' }

export type CheckNews =
  | { readonly kind: 'healthChanged'; readonly report: CheckReport }
  /**
   * Reports of all health checks, sent regularly (check-service.ts) for status and metrics, and as a sign that the
   * thread is alive.
   */
  | { readonly kind: 'checkBeat'; readonly reports: readonly CheckReport[] }
  /** Reports of the repeated health checks. A check without a result in time is missing. */
  | { readonly kind: 'askedOnceMore'; readonly id: number; readonly reports: readonly CheckReport[] }
  | { readonly kind: 'checksStopped' }
