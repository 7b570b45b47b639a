/**
 * Tells what a state means for the addresses of a router: which of them are in the kernel. This file also tells whether
 * the router waits for announcements of other hosts. PURE. Decides no transition.
 */
import { isInGracePeriod } from '../../vrrp/extensions/grace-period.ts'
import type { Parameters } from '../../vrrp/parameters.ts'
import type { State } from '../../vrrp/state.ts'
import type { Address } from '../../wire/address.ts'

/**
 * Tells whether a crash would leave a VIP of the router behind. A router in Leaving may have no VIP, because its
 * guardian has removed all.
 */
export const holdsIn = (state: State): boolean =>
  state.name === 'Active' || isInGracePeriod(state) || (state.name === 'Leaving' && state.stillAnswered.length > 0)

/** Returns the addresses that are installed on this node because of the state. */
export function heldIn(state: State, { addresses }: Parameters): readonly Address[] {
  if (state.name === 'Active') return addresses
  const stillAnswered = state.name === 'Leaving' || state.name === 'Backup' ? state.stillAnswered : undefined
  return stillAnswered?.map(({ address }) => address) ?? []
}

/** Tells whether the router removes addresses, or does not install them, when another host announces them. */
export const awaitsAnnouncementsIn = (state: State): boolean =>
  state.name === 'Leaving' || state.name === 'Returning' || isInGracePeriod(state)
