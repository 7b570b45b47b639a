/**
 * How long the kernel keeps an address that no guardian renews: the net under a guardian that died or froze together with
 * its engine. Refuses to know how an address is renewed.
 */
import { ownsAddresses, type Parameters } from '../../vrrp/parameters.ts'
import { activeDownInterval } from '../../vrrp/timers.ts'
import type { WantedAddress } from '../ports.ts'

export type LifetimeOption = 'auto' | 'off'

/** Seconds. The kernel counts in whole ones, and a third of it must be long enough for a busy node to renew in. */
const SHORTEST = 2

/** Returns whole seconds; `undefined` for ever, as always for the node's own addresses (255). */
export function lifetimeOf(option: LifetimeOption, parameters: Parameters): number | undefined {
  if (option === 'off' || ownsAddresses(parameters)) return undefined
  const { advertisementInterval, priority, version } = parameters
  return Math.max(SHORTEST, Math.ceil(activeDownInterval(priority, advertisementInterval, version) / 1000))
}

type Found = WantedAddress & { readonly permanent?: boolean }

/** Reports whether the kernel will drop the address that it has in this place. */
export const hasAnEnd = (found: Found, { interfaceIndex, prefixLength }: WantedAddress): boolean =>
  found.permanent === false && found.interfaceIndex === interfaceIndex && found.prefixLength === prefixLength
