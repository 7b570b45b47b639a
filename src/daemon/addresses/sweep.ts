/**
 * Decides which addresses an earlier run left on this node (ground rule 4: no VIP outlives its holder). Configured VIPs
 * count on any interface and with any prefix length (link-local VIPs only in the form of reconcile.ts). Other addresses
 * of the ledger count only in the installed form. An owner's addresses (priority 255) that are the node's own never
 * count. The caller removes the addresses found here.
 */
import type { Config } from '../../config/config.ts'
import { heldAddresses, ownAddressesOf } from '../../config/schema/virtual-address.ts'
import type { OwnAddresses } from '../../vrrp/parameters.ts'
import { type Address, familyOf, isLinkLocal } from '../../wire/address.ts'
import type { AddressStep, PresentAddress } from '../ports.ts'
import type { LedgerEntry } from './ledger.ts'
import type { NetworkView } from './network-view.ts'
import { isOurs } from './reconcile.ts'

export type Sweep = {
  readonly view: NetworkView
  readonly ledger: readonly LedgerEntry[]
  /** Addresses that holdfast adds and removes. */
  readonly vips: ReadonlySet<Address>
  readonly owned: ReadonlySet<Address>
}

export function sweepSteps(sweep: Sweep): readonly AddressStep[] {
  const { view, ledger, vips } = sweep
  const isInLedger = (present: PresentAddress) => ledger.some((entry) => isAsInstalled(view, present, entry))
  const stale = [
    ...[...vips]
      .flatMap((address) => view.where(address))
      .filter((present) => isOurs(present, undefined, nameOf(view, present)) || isInLedger(present)),
    ...droppedAddresses(sweep).filter((present) => hasCompany(sweep, present)),
  ]
  return stale.map(({ interfaceIndex, address, prefixLength }) => ({
    action: 'remove',
    interfaceIndex,
    address,
    prefixLength,
  }))
}

/**
 * Returns addresses of an earlier run that stay installed, because the node may depend on them
 * (config/advice/own-address.ts).
 */
export const addressesLeftInPlace = (sweep: Sweep): readonly PresentAddress[] =>
  droppedAddresses(sweep).filter((present) => !hasCompany(sweep, present))

/** Returns present addresses that the ledger names and the configuration does not. */
function droppedAddresses({ view, ledger, vips, owned }: Sweep): readonly PresentAddress[] {
  const dropped = ledger.filter(({ address }) => !vips.has(address) && !owned.has(address))
  return dropped.flatMap((entry) => view.where(entry.address).filter((present) => isAsInstalled(view, present, entry)))
}

/** Tells whether the address has the interface and prefix with which the daemon installed it. */
export const isAsInstalled = (view: NetworkView, present: PresentAddress, entry: LedgerEntry): boolean =>
  present.address === entry.address &&
  present.prefixLength === entry.prefixLength &&
  nameOf(view, present) === entry.interfaceName

const nameOf = (view: NetworkView, { interfaceIndex }: PresentAddress) => view.link(interfaceIndex)?.name

/** Tells whether the interface still has an own address of the node after this address is removed. */
const hasCompany = ({ view, ledger, vips }: Sweep, { address, interfaceIndex }: PresentAddress): boolean =>
  view
    .on(interfaceIndex, familyOf(address))
    .some(
      (other) =>
        !vips.has(other.address) &&
        !ledger.some((entry) => isAsInstalled(view, other, entry)) &&
        (isLinkLocal(address) || !isLinkLocal(other.address)),
    )

/** Returns the addresses that holdfast adds and removes. */
export const virtualAddresses = (config: Config): ReadonlySet<Address> =>
  addressesWhere(config, (own) => own !== 'node')

/** Returns the node's own addresses of owners (255). */
export const ownedAddresses = (config: Config): ReadonlySet<Address> => addressesWhere(config, (own) => own === 'node')

function addressesWhere(config: Config, wanted: (own: OwnAddresses | undefined) => boolean): ReadonlySet<Address> {
  const routers = config.virtualRouters.filter((router) => wanted(ownAddressesOf(router)))
  return new Set(routers.flatMap(heldAddresses))
}
