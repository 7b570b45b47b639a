/**
 * From the addresses that are there to those that should be: steps as data. PURE. Decided here: what may be removed (a
 * managed VIP that is on the wrong interface, has the wrong prefix, or is not wanted), and the order. Refused here:
 * every address of the node itself, and how a step is carried out.
 */
import { OTHERS_INSTALL } from '../../config/network.ts'
import { type Address, isLinkLocal } from '../../wire/address.ts'
import type { AddressStep, PresentAddress, WantedAddress } from '../ports.ts'

export type Reconciliation = {
  /** VIPs of the routers that are Active now. */
  readonly wanted: readonly WantedAddress[]
  /** Every VIP that holdfast removes: the configured ones and those of an earlier run. */
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
  ...(label === undefined ? {} : { label }),
})

function unique<T extends WantedAddress>(list: readonly T[]): readonly T[] {
  return [...new Map(list.map((item) => [keyOf(item), item])).values()]
}

/**
 * Reports whether a managed address that is here may be removed. A link-local address belongs to its interface: on
 * another one than the router's it is not ours, as the fe80::1 of a bridge, unless it has the form in which we install
 * (/128, deprecated). `interfaceIndex`: `undefined` while no router has an interface. `name`: the interface that has
 * the address.
 */
export function isOurs(present: PresentAddress, interfaceIndex: number | undefined, name: string | undefined): boolean {
  if (present.interfaceIndex === interfaceIndex) return true
  if (name !== undefined && OTHERS_INSTALL.has(name)) return false
  if (!isLinkLocal(present.address)) return true
  return present.prefixLength === 128 && present.deprecated !== false
}

/**
 * Returns removals first: an IPv6 address cannot be added while it is there with another prefix, and a VIP on two
 * interfaces answers on both. Then the additions in the order wanted. No steps when all is as it should be.
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
