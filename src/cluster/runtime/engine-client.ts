/**
 * The client of an engine, holdfast's or keepalived, as types. For keepalived they are implemented in
 * keepalived-engine.ts, for holdfast in src/cli/agent.
 */
import type { Desired } from '../decisions/engine/desired.ts'
import type { Mode } from '../decisions/engine/desired-state.ts'

export type EngineStatus = {
  /** True if the engine has virtual routers. */
  readonly configured: boolean
  /** Mode of the virtual routers: unicast or multicast; `undefined` if the engine has no virtual router. */
  readonly mode: Mode | undefined
  /** True if a virtual router of the engine belongs to ingress; absent if not known. */
  readonly ingress?: boolean
}

export type HandedOver =
  | { readonly accepted: true }
  /** `failed`: the engine could not check the configuration this time. */
  | { readonly accepted: false; readonly problems: readonly string[]; readonly failed?: boolean }

export type EngineClient = {
  /** Reads the status of the engine. Rejects with Error if no engine answers. */
  look(): Promise<EngineStatus>
  /** Hands a configuration to the engine. Rejects with Error if the engine has ended. */
  handOver(desired: Desired): Promise<HandedOver>
  /** Resolves with the reason when the connection to the engine is lost, or when `signal` is aborted. */
  gone(signal: AbortSignal): Promise<string>
  close(): void
}
