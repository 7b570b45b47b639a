/** Converts a resolved router of the configuration into the values that the judges of `holdfast doctor` need. */
import { datagramLength } from '../../config/datagram.ts'
import type { ResolvedRouter } from '../../config/resolve.ts'
import type { PlannedRouter } from '../../doctor/measurement.ts'
import { advertisedBy, ownsAddresses } from '../../vrrp/parameters.ts'
import { centisToMillis } from '../../wire/units.ts'

export function plannedRouter({
  forms,
  held: followed,
  interfaceName,
  name,
  parameters,
  source,
}: ResolvedRouter): PlannedRouter {
  const { advertisementInterval, family, peers, priority, transport, version, vrid } = parameters
  return {
    ...{ name, vrid, family, version, priority, source },
    intervalMs: centisToMillis(advertisementInterval),
    interface: interfaceName,
    cannotFollow: followed?.problem,
    addresses: advertisedBy(parameters),
    held: forms.map(({ address, interfaceName: on }) => ({ address, interface: on })),
    owner: ownsAddresses(parameters),
    multicast: transport.mode === 'multicast',
    peers: peers.map(({ address }) => address),
    datagramOctets: datagramLength(parameters),
  }
}
