/**
 * Computes the address changes that lead from the present addresses to the wanted addresses, as data. PURE. This file
 * decides the order of the changes, and which addresses may be removed: a managed VIP on the wrong interface, with the
 * wrong prefix, or not wanted. An address of the node itself is never changed. This file knows nothing about how a
 * change is made.
 */
import { defined } from '../../base/defined.ts'
import { OTHERS_INSTALL } from '../../config/network.ts'
import { type Address, isLinkLocal } from '../../wire/address.ts'
import type { AddressStep, PresentAddress, WantedAddress } from '../ports.ts'

export type Reconciliation = {
  /** VIPs of the routers that are Active now. */
  readonly wanted: readonly WantedAddress[]
  /** Every VIP that holdfast removes: the configured VIPs, and those of an earlier run. */
  readonly managed: ReadonlySet<Address>
  readonly present: readonly PresentAddress[]
}

const keyOf = ({ interfaceIndex, address, prefixLength }: WantedAddress): string =>
  `${address}/${prefixLength}@${interfaceIndex}`

const stepOf = (action: AddressStep['action'], { interfaceIndex, address, label, prefixLength }: WantedAddress) => ({
  action,
  interfaceIndex,
  address,
  prefixLength,
  ...defined({ label }),
})

function unique<T extends WantedAddress>(list: readonly T[]): readonly T[] {
  return [...new Map(list.map((item) => [keyOf(item), item])).values()]
}

/**
 * Tells whether a managed address may be removed. A link-local address belongs to its interface, like the fe80::1 of a
 * bridge. On another interface than the router's, a link-local address is a VIP only in the form in which the daemon
 * installs VIPs (/128, deprecated). `interfaceIndex` is the interface of the router; `undefined` if the router has no
 * interface. `name` is the interface that has the address.
 */
export function isOurs(present: PresentAddress, interfaceIndex: number | undefined, name: string | undefined): boolean {
  if (present.interfaceIndex === interfaceIndex) return true
  if (name !== undefined && OTHERS_INSTALL.has(name)) return false
  if (!isLinkLocal(present.address)) return true
  return present.prefixLength === 128 && present.deprecated !== false
}

/**
 * Returns the changes that lead from the present to the wanted addresses, removals first. An IPv6 address cannot be
 * added while the interface has it with another prefix length, and a VIP on two interfaces answers on both. After the
 * removals come the additions, in the wanted order. Returns an empty list if all addresses are right.
 */
export function reconcile({ wanted, managed, present }: Reconciliation): readonly AddressStep[] {
  const target = new Set(wanted.map(keyOf))
  const there = new Set(present.map(keyOf))
  const removals = unique(present).filter((item) => managed.has(item.address) && !target.has(keyOf(item)))
  const additions = unique(wanted).filter((item) => !there.has(keyOf(item)))
  return [
    ...removals.map((item): AddressStep => stepOf('remove', item)),
    ...additions.map((item): AddressStep => stepOf('add', item)),
  ]
}
