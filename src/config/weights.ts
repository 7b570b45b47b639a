/**
 * Computes the effective priority, which is advertised, from the base priority and the trackers. A positive weight
 * counts while the tracked item is up, a negative weight while the item is down. With weight 0, an item that is down is
 * a fault. The key `reverse` exchanges up and down (VR-TRK-01). A file of weights contains a number that the weight
 * multiplies (VR-TRK-09). This file knows nothing about what a tracker checks, and when.
 */

/** A tracker with the current result of its check, interface or file. */
export type Contribution = {
  readonly weight: number
  readonly reverse?: boolean | undefined
} & ({ readonly up: boolean } | { readonly content: number })

export type EffectivePriority = {
  /** Effective priority, as the router advertises it: 1 to 254, or 255 for an address owner. */
  readonly priority: number
  /**
   * Base priority plus all contributions, before the limit of 1 to 254. A contribution can be subtracted exactly from
   * this sum.
   */
  readonly sum: number
  /** True if a tracker puts the router in fault. A router in fault takes no part in the election. */
  readonly fault: boolean
}

/**
 * Largest contribution of a track file, and the contribution at or below which a track file puts the router in fault
 * (VR-TRK-09).
 */
const MOST_OF_FILE = 253
const FAULT_OF_FILE = -254

/**
 * Returns the effective priority. Weights do not change the priority of an address owner, which is 255 by definition
 * (RFC 9568 §6.1). Faults count for an address owner as well.
 */
export function effectivePriority(base: number, contributions: readonly Contribution[]): EffectivePriority {
  const owner = base === 255
  // With weight 0 each failed tracker is a fault. With another weight only a track file can cause a fault (-254 or
  // less). An address owner ignores trackers with a weight other than 0 (VR-TRK-08).
  const fault = contributions.some((each) => (!owner || each.weight === 0) && contributionOf(each) === 'fault')
  if (owner) return { priority: 255, sum: 255, fault }
  const sum = contributions
    .map(contributionOf)
    .reduce<number>((total, adds) => total + (adds === 'fault' ? 0 : adds), base)
  return { priority: Math.min(254, Math.max(1, sum)), sum, fault }
}

/**
 * Returns the present contribution of one tracker to the priority, or `fault` if the tracker puts the router in fault.
 */
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
