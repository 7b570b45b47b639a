/**
 * Computes how long the kernel keeps an address that no guardian renews. By this lifetime the kernel removes the
 * addresses after guardian and engine have both died or hang. This file knows nothing about how an address is renewed.
 */
import { ownsAddresses, type Parameters } from '../../vrrp/parameters.ts'
import { activeDownInterval } from '../../vrrp/timers.ts'
import type { WantedAddress } from '../ports.ts'

export type LifetimeOption = 'auto' | 'off'

/**
 * Shortest lifetime of a VIP in seconds. The kernel counts whole seconds, and a third of the lifetime must be enough
 * for a busy node to renew the VIP.
 */
const SHORTEST = 2

/**
 * Returns the lifetime of an address in whole seconds; `undefined` = no limit, as always for the node's own addresses
 * (priority 255).
 */
export function lifetimeOf(option: LifetimeOption, parameters: Parameters): number | undefined {
  if (option === 'off' || ownsAddresses(parameters)) return undefined
  const { advertisementInterval, priority, version } = parameters
  return Math.max(SHORTEST, Math.ceil(activeDownInterval(priority, advertisementInterval, version) / 1000))
}

type Found = WantedAddress & { readonly permanent?: boolean }

/** Tells whether the address with this interface and prefix length has a lifetime in the kernel. */
export const hasAnEnd = (found: Found, { interfaceIndex, prefixLength }: WantedAddress): boolean =>
  found.permanent === false && found.interfaceIndex === interfaceIndex && found.prefixLength === prefixLength
