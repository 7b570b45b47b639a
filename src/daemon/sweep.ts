/**
 * What an earlier life left on this node (ground rule 4): configured VIPs by address, on any interface and with any
 * prefix (link-local ones only in our form, see reconcile.ts); journalled ones only exactly as they were installed; those
 * of an owner (255) that are the node's own never.
 * Decided here: which addresses are stale. How they are removed is the caller's business.
 */
import type { Config } from '../config/config.ts'
import { heldAddresses, ownAddressesOf } from '../config/virtual-address.ts'
import type { OwnAddresses } from '../vrrp/parameters.ts'
import type { Address } from '../wire/address.ts'
import type { JournalEntry } from './journal.ts'
import type { NetworkView } from './network-view.ts'
import type { AddressStep, PresentAddress } from './ports.ts'
import { isOurs } from './reconcile.ts'

export type Sweep = {
  readonly view: NetworkView
  readonly journal: readonly JournalEntry[]
  /** Ours to add and remove. */
  readonly vips: ReadonlySet<Address>
  readonly owned: ReadonlySet<Address>
}

export function sweepSteps({ view, journal, vips, owned }: Sweep): readonly AddressStep[] {
  const isAsInstalled = (present: PresentAddress, entry: JournalEntry) =>
    present.prefixLength === entry.prefixLength && view.link(present.interfaceIndex)?.name === entry.interfaceName
  const dropped = journal.filter(({ address }) => !vips.has(address) && !owned.has(address))
  const stale = [
    ...[...vips].flatMap((address) => view.where(address)).filter((present) => isOurs(present, undefined)),
    ...dropped.flatMap((entry) => view.where(entry.address).filter((present) => isAsInstalled(present, entry))),
  ]
  return stale.map(({ interfaceIndex, address, prefixLength }) => ({
    action: 'remove',
    interfaceIndex,
    address,
    prefixLength,
  }))
}

/** Ours to add and remove. */
export const virtualAddresses = (config: Config): ReadonlySet<Address> =>
  addressesWhere(config, (own) => own !== 'node')

/** The node's own, of owners (255). */
export const ownedAddresses = (config: Config): ReadonlySet<Address> => addressesWhere(config, (own) => own === 'node')

function addressesWhere(config: Config, wanted: (own: OwnAddresses | undefined) => boolean): ReadonlySet<Address> {
  const routers = config.virtualRouters.filter((router) => wanted(ownAddressesOf(router)))
  return new Set(routers.flatMap(heldAddresses))
}
