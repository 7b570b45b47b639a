/**
 * How long an election may still end it that another host answers for our addresses (docs/adr/0018): after a healed cut
 * both sides do, until one has heard the other. Decided here: whose time that is, and its bounds. Refuses to know who is
 * suspected, and of what.
 */
import type { Parameters } from '../../vrrp/parameters.ts'
import type { State } from '../../vrrp/state.ts'
import { centisToMillis, type Millis } from '../../wire/units.ts'

/** For an advertisement of ours nobody waits longer than this. */
const LONGEST_WAIT = 1_000
/** An advertisement takes its time to do so: what follows from it, and the question after it. */
const ADVERTISEMENT_TAKES = 100
/** What a kernel needs to find a unicast peer again: it asks once a second. */
const RESOLUTION_TAKES = 1_000
const LONGEST_ELECTION = 5_000

/** A router of the group: each side has said its word, and the other one's has come through. */
export function electionTime({ advertisementInterval }: Parameters): number {
  return Math.min(2 * centisToMillis(advertisementInterval) + RESOLUTION_TAKES, LONGEST_ELECTION)
}

/** Whoever it is, it may be a router that we never heard, which goes when it hears us. */
export function timeToBeHeard(state: State, since: Millis): number {
  const left = state.name === 'Active' ? Math.max(0, state.adverAt - since) : 0
  return Math.min(left, LONGEST_WAIT) + ADVERTISEMENT_TAKES
}
