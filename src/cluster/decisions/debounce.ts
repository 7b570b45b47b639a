/**
 * When what is wanted is worth handing over: when it has been the same for a time. A view of the cluster that could not be
 * had neither counts nor resets: the time of its failure is left out, and nothing is handed over while it lasts. Nothing in force at
 * all: at once, because each second without a configuration is one without the VIP, and a first complete list is no churn.
 */
import type { Desired } from './engine/desired.ts'

export type Debounce = {
  /** Handed over last; undefined: nothing. */
  readonly inForce: Desired | undefined
  readonly candidate: Candidate | undefined
}
type Candidate = {
  readonly desired: Desired
  /** How long it had been the same before `since`. */
  readonly held: number
  /** Undefined: nobody knows at the moment whether it still is. */
  readonly since: number | undefined
}

export const IDLE: Debounce = { inForce: undefined, candidate: undefined }

/** Ours are built by one function (desired-state.ts), with the same order of keys. */
export const isSame = (one: Desired | undefined, other: Desired | undefined): boolean =>
  JSON.stringify(one) === JSON.stringify(other)

/**
 * `desired` undefined: too little is known to want anything; what was on its way is forgotten. `blind`: lookups fail, so the
 * time of what was on its way does not count; what is new by other knowledge begins all the same.
 */
export function offered(state: Debounce, desired: Desired | undefined, now: number, blind = false): Debounce {
  const { inForce, candidate } = state
  if (desired === undefined || (inForce !== undefined && isSame(desired, inForce)))
    return { inForce, candidate: undefined }
  if (candidate === undefined || !isSame(candidate.desired, desired))
    return { inForce, candidate: { desired, held: 0, since: now } }
  return candidate.since === undefined && !blind ? { inForce, candidate: { ...candidate, since: now } } : state
}

export function lookupFailed(state: Debounce, now: number): Debounce {
  const { candidate } = state
  if (candidate?.since === undefined) return state
  return { ...state, candidate: { ...candidate, held: candidate.held + now - candidate.since, since: undefined } }
}

/** `stable` ms after it was first seen. Undefined: nothing waits, or nobody knows. */
export function dueAt({ candidate }: Debounce, stable: number): number | undefined {
  return candidate?.since === undefined ? undefined : candidate.since + Math.max(0, stable - candidate.held)
}

/** To be handed over at the next occasion, whatever was on its way. */
export const overdue = ({ inForce }: Debounce, desired: Desired, stable: number, now: number): Debounce => ({
  inForce,
  candidate: { desired, held: stable, since: now },
})

export const applied = (desired: Desired): Debounce => ({ inForce: desired, candidate: undefined })
