/**
 * What the engine and the thread that checks say to each other. Values only. This file does not know which thread that
 * is, nor how often anything is said.
 */
import type { Millis } from '../wire/units.ts'
import type { CheckSpec } from './check.ts'
import type { CheckReport, Former } from './check-report.ts'

export type Formerly = Former & { readonly check: string }

/** Names of checks: those that are believed to be up, and those that are believed to be down. */
export type Asked = { readonly up: readonly string[]; readonly down: readonly string[] }

export type CheckOrder =
  | {
      readonly kind: 'setChecks'
      readonly checks: readonly CheckSpec[]
      /** What the engine still holds of them: a thread that starts again takes over from there. */
      readonly formerly: readonly Formerly[]
    }
  /** Before a takeover by fastPreempt (docs/architecture.md, Protocol decisions): each of them once more, a result against the belief counts at once. */
  | { readonly kind: 'askOnceMore'; readonly id: number; readonly asked: Asked; readonly within: Millis }
  | { readonly kind: 'stopChecks' }

export type CheckNews =
  | { readonly kind: 'healthChanged'; readonly report: CheckReport }
  /** Now and then (check-service.ts), changed or not: status and metrics, and the sign that the thread lives. */
  | { readonly kind: 'checkBeat'; readonly reports: readonly CheckReport[] }
  /** Checks that had no result in time are missing. */
  | { readonly kind: 'askedOnceMore'; readonly id: number; readonly reports: readonly CheckReport[] }
  | { readonly kind: 'checksStopped' }
