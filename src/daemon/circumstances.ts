/**
 * What the links, addresses and health checks of this node mean for one virtual router: the faults it has or has not,
 * and the priority that its trackers leave it. Values only: which part raises them, and in which order, is the daemon's
 * business.
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

/** Place where a router is to run: the interface and the source, as far as they are there. */
export type Place = {
  readonly link: Link | undefined
  readonly source: Address | undefined
  /** Another router of this node runs there with the same VRID. */
  readonly taken: boolean
}

/** Reports whether an advertisement would be sent in fragments, which not every receiver takes (VR-PKT-10). */
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
    // Nothing can be sent once the link is gone or down; without a source address neither.
    { fault: 'interfaceMissing', present: link === undefined, canSend: false },
    { fault: 'linkDown', present: link !== undefined && !isUp(link), canSend: false },
    // It can send priority 0, which is more than silence: a port still sends, and receives nothing.
    { fault: 'interfaceIsPort', present: link?.portOf !== undefined, canSend: true },
    { fault: 'sourceAddressMissing', present: link !== undefined && source === undefined, canSend: false },
    { fault: 'vridTaken', present: taken, canSend: false },
    { fault: 'configured', present: configuredFault !== undefined, canSend: true },
    // The kernel sends it in fragments, and a peer that reassembles them hears the priority 0.
    { fault: 'messageTooLarge', present: link !== undefined && isTooLarge(parameters, link), canSend: true },
  ] as const
  // As in keepalived: a router that cannot have all of its addresses has none of them.
  const places = [...new Set(forms.flatMap(({ interfaceName }) => interfaceName ?? []))]
  const unplaced = places.map((name) => ({
    fault: `addressInterfaceDown:${name}` as const,
    present: !isUp(view.linkNamed(name)),
    canSend: true,
  }))
  return { faults: [...faults, ...unplaced, ...tracking.faults], tracking }
}
