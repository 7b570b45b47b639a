/**
 * Effective priority from the base priority and what is tracked (vrrp: the value that is advertised). One table for
 * every kind of tracker: a positive weight is added while it is up, a negative one while it is down, 0 is a fault
 * while it is down; reverse turns each of them round (VR-TRK-01). A file holds a number that its weight multiplies
 * (VR-TRK-09). This file does not know what a tracker looks at, nor when it last looked.
 */

export type Contribution = {
  readonly weight: number
  readonly reverse?: boolean | undefined
} & ({ readonly up: boolean } | { readonly content: number })

export type EffectivePriority = {
  /** 1–254, or 255 for the owner: what goes on the wire. */
  readonly priority: number
  /** Before clamping: with it, taking a contribution away again is exact. */
  readonly sum: number
  /** A tracker of weight 0 is down: the router cannot take part. */
  readonly fault: boolean
}

/** What a file adds at most, and from where on down it is a fault (VR-TRK-09). */
const MOST_OF_FILE = 253
const FAULT_OF_FILE = -254

/** The owner's priority is a fact (RFC 9568 §6.1: 255 and nothing else), so weights leave it alone; faults do not. */
export function effectivePriority(base: number, contributions: readonly Contribution[]): EffectivePriority {
  const owner = base === 255
  // Not "of weight 0 only": a file may come to a fault by what it holds. VR-TRK-08: weights of an owner are dropped.
  const fault = contributions.some((each) => (!owner || each.weight === 0) && contributionOf(each) === 'fault')
  if (owner) return { priority: 255, sum: 255, fault }
  const sum = contributions
    .map(contributionOf)
    .reduce<number>((total, adds) => total + (adds === 'fault' ? 0 : adds), base)
  return { priority: Math.min(254, Math.max(1, sum)), sum, fault }
}

/** What one tracker adds now. */
export function contributionOf(contribution: Contribution): number | 'fault' {
  const { weight, reverse = false } = contribution
  const sign = reverse ? -1 : 1
  if ('content' in contribution) {
    const { content } = contribution
    if (weight === 0) return (content !== 0) !== reverse ? 'fault' : 0
    const adds = content * weight * sign
    return adds <= FAULT_OF_FILE ? 'fault' : Math.min(MOST_OF_FILE, adds)
  }
  const { up } = contribution
  if (weight === 0) return up === reverse ? 'fault' : 0
  return weight > 0 === up ? weight * sign : 0
}
