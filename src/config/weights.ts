/**
 * Effective priority from the base priority and what is tracked (vrrp: the value that is advertised). One table for
 * every kind of tracker: a positive weight is added while it is up, a negative one while it is down, 0 is a fault
 * while it is down. This file does not know what a tracker looks at, nor when it last looked.
 */

export type Contribution = { readonly weight: number; readonly up: boolean }

export type EffectivePriority = {
  /** 1–254, or 255 for the owner: what goes on the wire. */
  readonly priority: number
  /** Before clamping: with it, taking a contribution away again is exact. */
  readonly sum: number
  /** A tracker of weight 0 is down: the router cannot take part. */
  readonly fault: boolean
}

/** The owner's priority is a fact (RFC 9568 §6.1: 255 and nothing else), so weights leave it alone; faults do not. */
export function effectivePriority(base: number, contributions: readonly Contribution[]): EffectivePriority {
  const fault = contributions.some(({ weight, up }) => weight === 0 && !up)
  if (base === 255) return { priority: 255, sum: 255, fault }
  const sum = contributions.reduce((total, { weight, up }) => total + (weight > 0 === up ? weight : 0), base)
  return { priority: Math.min(254, Math.max(1, sum)), sum, fault }
}
