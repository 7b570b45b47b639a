/**
 * Tie: decides which of two sync groups of equal priority wins. RFC 9568 §6.4.3 compares the routers' addresses. Each
 * member has its own network and address family, so the comparison may end differently for two members. In this case
 * each group loses with another member, both groups become Backup, and both become Active again together, repeatedly.
 * For this reason one member decides for the whole group, and it is the same member on every node: the lowest VRID,
 * IPv4 before IPv6. If the network of that member does not reach the other group, line (735) applies to the other
 * members an interval later. Option: `groupTie`.
 */
import { compareAddresses } from '../../../wire/address.ts'
import { centisToMillis, type Millis } from '../../../wire/units.ts'
import type { Event } from '../../event.ts'
import type { Parameters } from '../../parameters.ts'
import type { Active, State } from '../../state.ts'

/** Number of intervals after which an earlier tie is forgotten. */
const FORGOTTEN_AFTER = 4

type Tied = { readonly state: State; readonly parameters: Parameters }

/**
 * Handling of a tie between two groups. `ask`: the tie is new, so each member advertises, to reach the deciding member
 * of the other group.
 */
export type Tie = 'ask' | 'wait' | 'lost'

/**
 * Returns what line (735) means for a member of a sync group; `undefined` if there is no tie between groups, or if this
 * member decides it.
 */
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
