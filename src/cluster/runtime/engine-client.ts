/**
 * The client of an engine, holdfast's or keepalived, as types. keepalived-engine.ts implements it for keepalived, and
 * cli for holdfast.
 */
import type { Desired } from '../decisions/engine/desired.ts'
import type { Mode } from '../decisions/engine/desired-state.ts'

export type EngineStatus = {
  /** Whether the engine has virtual routers. */
  readonly configured: boolean
  /** Mode of the virtual routers; `undefined` if there are none. */
  readonly mode: Mode | undefined
  /** Whether one of them belongs to ingress; absent if not known. */
  readonly ingress?: boolean
}

export type HandedOver =
  | { readonly accepted: true }
  /** `failed`: the engine could not check the configuration this time. */
  | { readonly accepted: false; readonly problems: readonly string[]; readonly failed?: boolean }

export type EngineClient = {
  /** Connects to the engine. Rejects with Error if there is none. */
  look(): Promise<EngineStatus>
  /** Hands a configuration over. Rejects with Error if there is no engine any more. */
  handOver(desired: Desired): Promise<HandedOver>
  /** Resolves with the reason when the connection is lost, or when `signal` is aborted. */
  gone(signal: AbortSignal): Promise<string>
  close(): void
}
