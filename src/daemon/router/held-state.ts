/**
 * What a state means for the addresses of a router: which of them are in the kernel because of it, and whether the
 * router waits for claims of other hosts. PURE. Decides no transition.
 */
import { isInGracePeriod } from '../../vrrp/extensions/grace-period.ts'
import type { Parameters } from '../../vrrp/parameters.ts'
import type { State } from '../../vrrp/state.ts'
import type { Address } from '../../wire/address.ts'

/** Reports whether a crash would leave an address behind. A router in Leaving may have lost them all to its guardian. */
export const holdsIn = (state: State): boolean =>
  state.name === 'Active' || isInGracePeriod(state) || (state.name === 'Leaving' && state.kept.length > 0)

/** Returns the addresses that are on this node because of the state. */
export function heldIn(state: State, { addresses }: Parameters): readonly Address[] {
  if (state.name === 'Active') return addresses
  const kept = state.name === 'Leaving' || state.name === 'Backup' ? state.kept : undefined
  return kept?.map(({ address }) => address) ?? []
}

/** Reports whether the router removes addresses, or stays away from them, when another host claims them. */
export const awaitsClaimsIn = (state: State): boolean =>
  state.name === 'Leaving' || state.name === 'Returning' || isInGracePeriod(state)
