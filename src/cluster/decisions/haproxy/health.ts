/**
 * Decides from single checks whether HAProxy is usable, so that one lost answer does not have to change the rules. As in
 * upstream's monitor, only answers that contradict the present decision are counted. An answer that agrees ends the count.
 */

export type Thresholds = {
  /** Good checks in a row that make HAProxy usable. */
  readonly on: number
  /** Bad checks in a row that make HAProxy unusable. */
  readonly off: number
}

export type Health = {
  readonly isUsable: boolean
  /** Number of checks in a row that contradict `isUsable`. */
  readonly against: number
}

/** Returns the health after a check. */
export function healthAfter({ isUsable, against }: Health, isGood: boolean, { on, off }: Thresholds): Health {
  if (isGood === isUsable) return { isUsable, against: 0 }
  const count = against + 1
  return count >= (isUsable ? off : on) ? { isUsable: isGood, against: 0 } : { isUsable, against: count }
}
