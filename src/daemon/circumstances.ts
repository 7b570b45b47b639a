/**
 * What the links and addresses of this node mean for one virtual router: the faults it has or has not, and the
 * priority that its trackers leave it. Values only: who raises them, and in which order, is the daemon's business.
 */
import { datagramLength } from '../config/datagram.ts'
import type { ResolvedRouter } from '../config/resolve.ts'
import { interfacesIn } from '../config/track.ts'
import { effectivePriority } from '../config/weights.ts'
import type { Fault } from '../vrrp/event.ts'
import type { Parameters } from '../vrrp/parameters.ts'
import type { Address } from '../wire/address.ts'
import type { NetworkView } from './network-view.ts'
import type { Link } from './ports.ts'

export type Circumstances = {
  readonly faults: readonly { readonly fault: Fault; readonly present: boolean; readonly canSend: boolean }[]
  readonly priority: number
}

export const isUp = (link: Link | undefined): boolean => link?.up === true && link.running

/** Where a router is to run: the interface and the source, as far as they are there. */
export type Place = {
  readonly link: Link | undefined
  readonly source: Address | undefined
  /** Another router of this node runs there with the same VRID. */
  readonly taken: boolean
}

/** Fragments are not for every receiver (VR-PKT-10). */
const isTooLarge = (parameters: Parameters, { mtu }: Link): boolean => mtu > 0 && datagramLength(parameters) > mtu

export function circumstancesOf(
  { track, parameters }: Pick<ResolvedRouter, 'track' | 'parameters'>,
  { link, source, taken }: Place,
  view: Pick<NetworkView, 'linkNamed'>,
): Circumstances {
  const tracked = interfacesIn(track).map(({ weight, interface: name }) => ({
    weight,
    name,
    up: isUp(view.linkNamed(name)),
  }))
  const faults = [
    // Nothing can be sent once the link is gone or down; without a source address neither.
    { fault: 'interfaceMissing', present: link === undefined, canSend: false },
    { fault: 'linkDown', present: link !== undefined && !isUp(link), canSend: false },
    // It can say that it goes, which is more than silence: a port still sends, and hears nobody.
    { fault: 'interfaceIsPort', present: link?.portOf !== undefined, canSend: true },
    { fault: 'sourceAddressMissing', present: link !== undefined && source === undefined, canSend: false },
    { fault: 'vridTaken', present: taken, canSend: false },
    // The kernel sends it in fragments, and a neighbour that reassembles them learns of the priority 0.
    { fault: 'messageTooLarge', present: link !== undefined && isTooLarge(parameters, link), canSend: true },
  ] as const
  return {
    faults: [
      ...faults,
      ...tracked.flatMap(({ weight, name, up }) =>
        weight === 0 ? [{ fault: `trackedInterfaceDown:${name}` as const, present: !up, canSend: true }] : [],
      ),
    ],
    priority: effectivePriority(parameters.priority, tracked).priority,
  }
}
