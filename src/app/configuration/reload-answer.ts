/**
 * Answers to a reload and to a hand-over (`POST /v1/reload`, `/v1/configuration`). The control socket sends them, and
 * the commands read them.
 */
import type { ValueChange } from '../../config/value-diff.ts'
import type { ReloadReport } from '../../daemon/reload.ts'
import type { ConfigProblem } from '../../daemon/telemetry/snapshot.ts'

export type ReloadAnswer = { readonly file: string } & (ReloadSuccess | ReloadFailure)

export type ReloadSuccess = Extract<ReloadReport, { ok: true }> & {
  readonly hash: string
  readonly warnings: readonly ConfigProblem[]
  /** Changed configuration keys with their old and new values. */
  readonly values: readonly ValueChange[]
  /** True if the reload was only simulated. */
  readonly dryRun?: true
  /** Time in milliseconds for which the engine did nothing but this reload. */
  readonly pausedMs: number
}

/** `invalid`: the file has errors, which `problems` lists. `failed`: every other reason. */
export type ReloadFailure = {
  readonly ok: false
  readonly fault: 'invalid' | 'failed'
  readonly reason: string
  readonly problems: readonly ConfigProblem[]
}

/** `kept`: the configuration is stored in the engine's file, from which the engine starts. */
export type HandOverAnswer = ReloadAnswer & { readonly kept: boolean; readonly notKept?: string }
