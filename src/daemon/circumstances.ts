/**
 * Computes the faults and the priority of one virtual router from the links, addresses and health checks of this node.
 * The functions return values only. The daemon applies these values in its own order.
 */
import { datagramLength } from '../config/datagram.ts'
import type { ResolvedRouter } from '../config/resolve.ts'
import type { Fault } from '../vrrp/event.ts'
import type { Parameters } from '../vrrp/parameters.ts'
import type { Address } from '../wire/address.ts'
import type { NetworkView } from './addresses/network-view.ts'
import { isUp } from './addresses/network-view.ts'
import type { Trackers } from './health/trackers.ts'
import type { Replaced, Tracking } from './health/tracking.ts'
import type { Link } from './ports.ts'

export type Circumstances = {
  readonly faults: readonly { readonly fault: Fault; readonly present: boolean; readonly canSend: boolean }[]
  readonly tracking: Tracking
}

/** Interface and source address of a router; `undefined` where they do not exist. */
export type Place = {
  readonly link: Link | undefined
  readonly source: Address | undefined
  /** True if another virtual router of this node runs with the same VRID on the same interface. */
  readonly taken: boolean
}

/** Tells whether an advertisement would be sent in fragments, which not every receiver accepts (VR-PKT-10). */
const isTooLarge = (parameters: Parameters, { mtu }: Link): boolean => mtu > 0 && datagramLength(parameters) > mtu

export function circumstancesOf(
  {
    configuredFault,
    forms,
    track,
    parameters,
  }: Pick<ResolvedRouter, 'configuredFault' | 'forms' | 'track' | 'parameters'>,
  { link, source, taken }: Place,
  { trackers, view }: { readonly trackers: Trackers; readonly view: Pick<NetworkView, 'linkNamed'> },
  starts: boolean,
  replaced?: Replaced,
): Circumstances {
  const tracking = trackers.of(parameters.priority, track, starts, replaced)
  const faults = [
    // Without an interface, or without a source address, the router cannot send.
    { fault: 'interfaceMissing', present: link === undefined, canSend: false },
    { fault: 'linkDown', present: link !== undefined && !isUp(link), canSend: false },
    // A port of a bridge receives no packets, but can still send priority 0.
    { fault: 'interfaceIsPort', present: link?.portOf !== undefined, canSend: true },
    { fault: 'sourceAddressMissing', present: link !== undefined && source === undefined, canSend: false },
    { fault: 'vridTaken', present: taken, canSend: false },
    { fault: 'configured', present: configuredFault !== undefined, canSend: true },
    // A message larger than the MTU puts the router in fault, but its priority 0 still goes out: the kernel sends that
    // packet in fragments.
    { fault: 'messageTooLarge', present: link !== undefined && isTooLarge(parameters, link), canSend: true },
  ] as const
  // As in keepalived, a router that cannot install all of its addresses installs none.
  const places = [...new Set(forms.flatMap(({ interfaceName }) => interfaceName ?? []))]
  const unplaced = places.map((name) => ({
    fault: `addressInterfaceDown:${name}` as const,
    present: !isUp(view.linkNamed(name)),
    canSend: true,
  }))
  return { faults: [...faults, ...unplaced, ...tracking.faults], tracking }
}
