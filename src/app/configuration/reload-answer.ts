/**
 * The answers to a reload and to a hand-over, as the control socket sends them (`POST /v1/reload`, `/v1/configuration`) and
 * the commands read them.
 */
import type { ValueChange } from '../../config/value-diff.ts'
import type { ReloadReport } from '../../daemon/reload.ts'
import type { ConfigProblem } from '../../daemon/telemetry/snapshot.ts'

export type ReloadAnswer = { readonly file: string } & (ReloadSuccess | ReloadFailure)

export type ReloadSuccess = Extract<ReloadReport, { ok: true }> & {
  readonly hash: string
  readonly warnings: readonly ConfigProblem[]
  /** The keys that differ, with their values. */
  readonly values: readonly ValueChange[]
  /** Nothing was put in force. */
  readonly dryRun?: true
  /** Time for which the engine did nothing else. */
  readonly pausedMs: number
}

/** `invalid`: the file is wrong, and `problems` says where; `failed`: every other reason. */
export type ReloadFailure = {
  readonly ok: false
  readonly fault: 'invalid' | 'failed'
  readonly reason: string
  readonly problems: readonly ConfigProblem[]
}

/** `kept`: the configuration is in the file of the engine, which begins with it after a restart. */
export type HandOverAnswer = ReloadAnswer & { readonly kept: boolean; readonly notKept?: string }
