/**
 * Tie: which of two sync groups of equal priority wins. RFC 9568 §6.4.3 compares addresses, and those of the members may be
 * ordered differently in two families or networks: then each group loses with another member, both step down, and both come
 * back together, again and again. So one member decides, the same one on every node: the lowest VRID, IPv4 before IPv6. If
 * its network does not reach the other group, line (735) of the others holds an interval later. Option: `groupTie`.
 */
import { compareAddresses } from '../../../wire/address.ts'
import { centisToMillis, type Millis } from '../../../wire/units.ts'
import type { Event } from '../../event.ts'
import type { Parameters } from '../../parameters.ts'
import type { Active, State } from '../../state.ts'

/** Intervals. A tie that was heard longer ago than this is over. */
const FORGOTTEN_AFTER = 4

type Tied = { readonly state: State; readonly parameters: Parameters }

/** `ask`: it is new; advertise on all networks, so that the deciding member of the other group hears it. */
export type Tie = 'ask' | 'wait' | 'lost'

/** Returns what line (735) means for a member of a group; `undefined` if it is no such tie, or this member decides itself. */
export function tieOf(members: readonly Tied[], subject: Tied, event: Event, now: Millis): Tie | undefined {
  const { parameters, state } = subject
  if (event.kind !== 'advertisementReceived' || state.name !== 'Active' || parameters.extensions.groupTie !== true)
    return undefined
  const above = compareAddresses(event.source, parameters.primaryAddress) > 0
  if (event.advertisement.priority !== parameters.priority || !above || decider(members) === subject) return undefined
  const interval = centisToMillis(parameters.advertisementInterval)
  const { tiedAt } = state
  if (tiedAt === undefined || now - tiedAt > FORGOTTEN_AFTER * interval) return 'ask'
  return now - tiedAt < interval ? 'wait' : 'lost'
}

export const rememberTie = (state: Active, now: Millis): Active => ({ ...state, tiedAt: now })

function decider(members: readonly Tied[]): Tied | undefined {
  return members.reduce((best, one) => (rank(one.parameters) < rank(best.parameters) ? one : best))
}

const rank = ({ family, vrid }: Parameters): number => 2 * vrid + (family === 'ipv4' ? 0 : 1)
