/** How the agent meets an engine, ours or keepalived. Words alone: who opens one is keepalived-engine.ts, and cli for ours. */
import type { Desired } from '../decisions/engine/desired.ts'
import type { Mode } from '../decisions/engine/desired-state.ts'

export type EngineSight = {
  /** It has virtual routers. */
  readonly configured: boolean
  /** Theirs; undefined: it has none. */
  readonly mode: Mode | undefined
  /** One of them is of ingress; left out: nobody asks it. */
  readonly ingress?: boolean
}

export type HandedOver =
  | { readonly accepted: true }
  /** `failed`: it could not judge it, this time. */
  | { readonly accepted: false; readonly problems: readonly string[]; readonly failed?: boolean }

export type EngineDoor = {
  /** Rejects with Error when nobody is there. */
  look(): Promise<EngineSight>
  /** Rejects with Error when nobody is there (any more). */
  handOver(desired: Desired): Promise<HandedOver>
  /** Resolves with the reason when it is gone, or when `signal` says so. */
  gone(signal: AbortSignal): Promise<string>
  close(): void
}
