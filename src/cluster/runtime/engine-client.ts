/**
 * The client of an engine, holdfast's or keepalived, as types. `keepalived-engine.ts` implements it for keepalived, and
 * cli for holdfast.
 */
import type { Desired } from '../decisions/engine/desired.ts'
import type { Mode } from '../decisions/engine/desired-state.ts'

export type EngineStatus = {
  /** Whether the engine has virtual routers. */
  readonly configured: boolean
  /** Whether the virtual routers use unicast or multicast; `undefined` if the engine has no virtual router. */
  readonly mode: Mode | undefined
  /** Whether a virtual router of the engine belongs to ingress; absent if not known. */
  readonly ingress?: boolean
}

export type HandedOver =
  | { readonly accepted: true }
  /** `failed`: the engine could not check the configuration this time. */
  | { readonly accepted: false; readonly problems: readonly string[]; readonly failed?: boolean }

export type EngineClient = {
  /** Reads the status of the engine. Rejects with Error if no engine answers. */
  look(): Promise<EngineStatus>
  /** Hands a configuration over. Rejects with Error if there is no engine any more. */
  handOver(desired: Desired): Promise<HandedOver>
  /** Resolves with the reason when the connection is lost, or when `signal` is aborted. */
  gone(signal: AbortSignal): Promise<string>
  close(): void
}
