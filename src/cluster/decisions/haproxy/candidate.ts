/**
 * Decides when a changed list of backends is written: when it was the same in several comparisons in a row. A comparison
 * without a list counts for nothing. As in upstream's monitor, a list that is in force already ends the count.
 */
import type { Backend } from './backends.ts'

export type Candidate = {
  /** List in the configuration that is in force; `undefined` before the first one. */
  readonly inForce: readonly Backend[] | undefined
  readonly offered: readonly Backend[] | undefined
  /** Number of comparisons in a row with the same list. */
  readonly seen: number
}

export const NO_CANDIDATE: Candidate = { inForce: undefined, offered: undefined, seen: 0 }

/** Number of equal comparisons, as in upstream's monitor. */
export const ALIKE = 3

/**
 * Returns the candidate after a comparison, and whether it is due. `needed`: number of equal comparisons that make a list
 * due.
 */
export function compared(
  { inForce, offered, seen }: Candidate,
  backends: readonly Backend[],
  needed: number = ALIKE,
): { readonly candidate: Candidate; readonly isDue: boolean } {
  if (isSame(inForce, backends)) return { candidate: { inForce, offered: undefined, seen: 0 }, isDue: false }
  const count = isSame(offered, backends) ? seen + 1 : 1
  return { candidate: { inForce, offered: backends, seen: count }, isDue: count >= needed }
}

/** Returns the candidate after its list was put in force. */
export const putInForce = (backends: readonly Backend[]): Candidate => ({
  inForce: backends,
  offered: undefined,
  seen: 0,
})

const isSame = (one: readonly Backend[] | undefined, other: readonly Backend[]): boolean =>
  one !== undefined && JSON.stringify(one) === JSON.stringify(other)
