/**
 * What an earlier life left on this node (ground rule 4): configured VIPs by address, on any interface and with any
 * prefix (link-local ones only in our form, see reconcile.ts); journalled ones only exactly as they were installed; an
 * owner's (255) never, because they are the node's own.
 * Decided here: which addresses are stale. How they are removed is the caller's business.
 */
import type { Config } from '../config/config.ts'
import { heldAddresses } from '../config/virtual-address.ts'
import type { Address } from '../wire/address.ts'
import type { JournalEntry } from './journal.ts'
import type { NetworkView } from './network-view.ts'
import type { AddressStep, PresentAddress } from './ports.ts'
import { isOurs } from './reconcile.ts'

export type Sweep = {
  readonly view: NetworkView
  readonly journal: readonly JournalEntry[]
  /** Of routers that are not owners. */
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

/** Of routers that are not owners: ours to add and remove. */
export const virtualAddresses = (config: Config): ReadonlySet<Address> => addressesWhere(config, (p) => p !== 255)

/** Of owners (255): the node's own. */
export const ownedAddresses = (config: Config): ReadonlySet<Address> => addressesWhere(config, (p) => p === 255)

function addressesWhere(config: Config, wanted: (priority: number) => boolean): ReadonlySet<Address> {
  const routers = config.virtualRouters.filter(({ priority }) => wanted(priority))
  return new Set(routers.flatMap(heldAddresses))
}
