/**
 * How long an election may still end that another host answers for our addresses (docs/adr/0018): after a healed cut both
 * sides do, until one has heard the other. Decided here: the bounds of that time. Refuses to know the suspects.
 */
import type { Parameters } from '../../../vrrp/parameters.ts'
import type { State } from '../../../vrrp/state.ts'
import { centisToMillis, type Millis } from '../../../wire/units.ts'

/** Milliseconds: no suspect gets more for hearing an advertisement of ours. */
const LONGEST_WAIT = 1_000
/** Milliseconds for what follows from an advertisement, and the question after it. */
const ADVERTISEMENT_TAKES = 100
/** Milliseconds in which a kernel finds a unicast peer again: it asks once a second. */
const RESOLUTION_TAKES = 1_000
const LONGEST_ELECTION = 5_000

/** Returns milliseconds for a router of the group: each side has advertised, and the other one's has arrived. */
export function electionTime({ advertisementInterval }: Parameters): number {
  return Math.min(2 * centisToMillis(advertisementInterval) + RESOLUTION_TAKES, LONGEST_ELECTION)
}

/** Returns milliseconds for an unknown host: it may be a router that we never heard, which goes when it hears us. */
export function timeToBeHeard(state: State, since: Millis): number {
  const left = state.name === 'Active' ? Math.max(0, state.adverAt - since) : 0
  return Math.min(left, LONGEST_WAIT) + ADVERTISEMENT_TAKES
}
