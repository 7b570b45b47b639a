/**
 * What an earlier life left on this node (ground rule 4): configured VIPs by address, on any interface and with any
 * prefix (link-local ones only in our form, see reconcile.ts); journalled ones only exactly as they were installed; those
 * of an owner (255) that are the node's own never.
 * Decided here: which addresses are stale. How they are removed is the caller's business.
 */
import type { Config } from '../../config/config.ts'
import { heldAddresses, ownAddressesOf } from '../../config/schema/virtual-address.ts'
import type { OwnAddresses } from '../../vrrp/parameters.ts'
import { type Address, familyOf, isLinkLocal } from '../../wire/address.ts'
import type { AddressStep, PresentAddress } from '../ports.ts'
import type { JournalEntry } from './ledger.ts'
import type { NetworkView } from './network-view.ts'
import { isOurs } from './reconcile.ts'

export type Sweep = {
  readonly view: NetworkView
  readonly journal: readonly JournalEntry[]
  /** Ours to add and remove. */
  readonly vips: ReadonlySet<Address>
  readonly owned: ReadonlySet<Address>
}

export function sweepSteps(sweep: Sweep): readonly AddressStep[] {
  const { view, journal, vips } = sweep
  const isJournalled = (present: PresentAddress) => journal.some((entry) => isAsInstalled(view, present, entry))
  const stale = [
    ...[...vips]
      .flatMap((address) => view.where(address))
      .filter((present) => isOurs(present, undefined, nameOf(view, present)) || isJournalled(present)),
    ...droppedAddresses(sweep).filter((present) => hasCompany(sweep, present)),
  ]
  return stale.map(({ interfaceIndex, address, prefixLength }) => ({
    action: 'remove',
    interfaceIndex,
    address,
    prefixLength,
  }))
}

/** Returns what an earlier run installed and this one leaves: it may be what the node lives on (config/advice/own-address.ts). */
export const sparedAddresses = (sweep: Sweep): readonly PresentAddress[] =>
  droppedAddresses(sweep).filter((present) => !hasCompany(sweep, present))

/** Returns what the journal names and the configuration does not. */
function droppedAddresses({ view, journal, vips, owned }: Sweep): readonly PresentAddress[] {
  const dropped = journal.filter(({ address }) => !vips.has(address) && !owned.has(address))
  return dropped.flatMap((entry) => view.where(entry.address).filter((present) => isAsInstalled(view, present, entry)))
}

/** Reports whether the address is on the interface and with the prefix under which the daemon installed it. */
export const isAsInstalled = (view: NetworkView, present: PresentAddress, entry: JournalEntry): boolean =>
  present.address === entry.address &&
  present.prefixLength === entry.prefixLength &&
  nameOf(view, present) === entry.interfaceName

const nameOf = (view: NetworkView, { interfaceIndex }: PresentAddress) => view.link(interfaceIndex)?.name

/** Reports whether the node keeps an own address on the interface without this one. */
const hasCompany = ({ view, journal, vips }: Sweep, { address, interfaceIndex }: PresentAddress): boolean =>
  view
    .on(interfaceIndex, familyOf(address))
    .some(
      (other) =>
        !vips.has(other.address) &&
        !journal.some((entry) => isAsInstalled(view, other, entry)) &&
        (isLinkLocal(address) || !isLinkLocal(other.address)),
    )

/** Ours to add and remove. */
export const virtualAddresses = (config: Config): ReadonlySet<Address> =>
  addressesWhere(config, (own) => own !== 'node')

/** The node's own, of owners (255). */
export const ownedAddresses = (config: Config): ReadonlySet<Address> => addressesWhere(config, (own) => own === 'node')

function addressesWhere(config: Config, wanted: (own: OwnAddresses | undefined) => boolean): ReadonlySet<Address> {
  const routers = config.virtualRouters.filter((router) => wanted(ownAddressesOf(router)))
  return new Set(routers.flatMap(heldAddresses))
}
