/**
 * How long the kernel keeps an address that nobody renews (docs/architecture.md, kernel lifetime): the net under a guardian that
 * is gone or frozen together with its engine. Refuses to know who renews, and how.
 */
import { ownsAddresses, type Parameters } from '../../vrrp/parameters.ts'
import { activeDownInterval } from '../../vrrp/timers.ts'

export type LifetimeOption = 'auto' | 'off'

/** The kernel counts in seconds, and a third of it must be long enough for a busy node to renew in. */
const SHORTEST = 2

/** Whole seconds; undefined = for ever. Never for the node's own addresses (255). */
export function lifetimeOf(option: LifetimeOption, parameters: Parameters): number | undefined {
  if (option === 'off' || ownsAddresses(parameters)) return undefined
  const { advertisementInterval, priority, version } = parameters
  return Math.max(SHORTEST, Math.ceil(activeDownInterval(priority, advertisementInterval, version) / 1000))
}
