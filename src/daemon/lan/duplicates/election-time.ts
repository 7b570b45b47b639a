/**
 * Computes how long an election may still end a duplicate (docs/adr/0018). After a network split has healed, both sides
 * answer until one has received the other's advertisement. This file decides the limits of that time. It does not know
 * the suspects.
 */
import type { Parameters } from '../../../vrrp/parameters.ts'
import type { State } from '../../../vrrp/state.ts'
import { centisToMillis, type Millis } from '../../../wire/units.ts'

/** Longest time in milliseconds that a suspect gets to receive our advertisement. */
const LONGEST_WAIT = 1_000
/** Milliseconds for the effects of an advertisement, and the question after it. */
const ADVERTISEMENT_TAKES = 100
/** Milliseconds in which a kernel resolves a unicast peer again: a kernel asks once a second. */
const RESOLUTION_TAKES = 1_000
const LONGEST_ELECTION = 5_000

/**
 * Returns the milliseconds for a router of the group: both sides have advertised, and both advertisements have arrived.
 */
export function electionTime({ advertisementInterval }: Parameters): number {
  return Math.min(2 * centisToMillis(advertisementInterval) + RESOLUTION_TAKES, LONGEST_ELECTION)
}

/**
 * Returns the milliseconds in which a duplicate holder that is an unknown host may still give way. The host may be a
 * router whose advertisements do not arrive here, and that gives way when it receives one from this router.
 */
export function timeToBeHeard(state: State, since: Millis): number {
  const left = state.name === 'Active' ? Math.max(0, state.adverAt - since) : 0
  return Math.min(left, LONGEST_WAIT) + ADVERTISEMENT_TAKES
}
