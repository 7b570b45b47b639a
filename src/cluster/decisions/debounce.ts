/**
 * Decides when a new configuration is handed over: when it has stayed the same for some time. While lookups fail, the
 * time does not count and no configuration is handed over. If no configuration is in force, the first configuration is
 * handed over immediately, because without it the VIP has no holder.
 */
import type { Desired } from './engine/desired.ts'

export type Debounce = {
  /** Configuration that the engine received last; `undefined` before the first hand-over. */
  readonly inForce: Desired | undefined
  readonly candidate: Candidate | undefined
}
type Candidate = {
  readonly desired: Desired
  /** Milliseconds for which the configuration that waits for its hand-over had stayed the same before `since`. */
  readonly held: number
  /** Time since which the configuration that waits for its hand-over stays the same; `undefined` while lookups fail. */
  readonly since: number | undefined
}

export const IDLE: Debounce = { inForce: undefined, candidate: undefined }

/**
 * Tells whether two configurations are equal. A single function builds all configurations (desired-state.ts), so their
 * keys have the same order.
 */
export const isSame = (one: Desired | undefined, other: Desired | undefined): boolean =>
  JSON.stringify(one) === JSON.stringify(other)

/**
 * Returns the state with a new candidate. If `desired` is undefined, too little is known, and the candidate is dropped.
 * `blind`: lookups fail, so the time of the present candidate does not count. A candidate from other sources still
 * starts.
 */
export function offered(state: Debounce, desired: Desired | undefined, now: number, blind = false): Debounce {
  const { inForce, candidate } = state
  if (desired === undefined || (inForce !== undefined && isSame(desired, inForce)))
    return { inForce, candidate: undefined }
  if (candidate === undefined || !isSame(candidate.desired, desired))
    return { inForce, candidate: { desired, held: 0, since: now } }
  return candidate.since === undefined && !blind ? { inForce, candidate: { ...candidate, since: now } } : state
}

/** Returns the state after a failed lookup: the time of the waiting configuration stops. */
export function lookupFailed(state: Debounce, now: number): Debounce {
  const { candidate } = state
  if (candidate?.since === undefined) return state
  return { ...state, candidate: { ...candidate, held: candidate.held + now - candidate.since, since: undefined } }
}

/**
 * Returns the time at which the candidate has stayed the same for `stable` milliseconds; `undefined` without a
 * candidate, or while lookups fail.
 */
export function dueAt({ candidate }: Debounce, stable: number): number | undefined {
  return candidate?.since === undefined ? undefined : candidate.since + Math.max(0, stable - candidate.held)
}

/** Returns a state in which `desired` is due immediately and replaces any candidate. */
export const overdue = ({ inForce }: Debounce, desired: Desired, stable: number, now: number): Debounce => ({
  inForce,
  candidate: { desired, held: stable, since: now },
})

/** Returns the state after `desired` was handed over. */
export const applied = (desired: Desired): Debounce => ({ inForce: desired, candidate: undefined })
