/**
 * Computes how long an election may still end a duplicate (docs/adr/0018). After a network split has healed, both
 * Actives answer until one of them has received the advertisement of the other. This file decides the limits of that
 * time. This file knows nothing about the suspected hosts.
 */
import type { Parameters } from '../../../vrrp/parameters.ts'
import type { State } from '../../../vrrp/state.ts'
import { centisToMillis, type Millis } from '../../../wire/units.ts'

/** Longest time in milliseconds that a suspected host gets to receive our advertisement. */
const LONGEST_WAIT = 1_000
/** Milliseconds for the effects of an advertisement, and for the question after that advertisement. */
const ADVERTISEMENT_TAKES = 100
/** Milliseconds in which a kernel resolves a unicast peer again: a kernel asks once a second. */
const RESOLUTION_TAKES = 1_000
const LONGEST_ELECTION = 5_000

/** Returns the milliseconds after which both routers have advertised and received the advertisement of the other. */
export function electionTime({ advertisementInterval }: Parameters): number {
  return Math.min(2 * centisToMillis(advertisementInterval) + RESOLUTION_TAKES, LONGEST_ELECTION)
}

/**
 * Returns the milliseconds in which an unknown duplicate holder may still give way. A duplicate holder may be a router
 * whose advertisements do not arrive here, and which gives way after an advertisement of this router.
 */
export function timeToBeHeard(state: State, since: Millis): number {
  const left = state.name === 'Active' ? Math.max(0, state.adverAt - since) : 0
  return Math.min(left, LONGEST_WAIT) + ADVERTISEMENT_TAKES
}
