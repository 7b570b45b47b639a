/**
 * What the guardian does when this engine is gone (design.md §2): addresses off, then priority 0, for all members of a
 * sync group at once. Computed when a router becomes Active; an owner's (255) addresses are the node's own and are in no
 * will.
 */
import { isOwner } from '../vrrp/parameters.ts'
import { advertisementDatagrams } from '../vrrp/transmit.ts'
import { hostPrefix } from './address-keeper.ts'
import type { LastWill, WantedAddress } from './ports.ts'
import type { Router } from './router.ts'

/** One member's part of it. */
export type Bequest = {
  readonly remove: readonly WantedAddress[]
  readonly release: LastWill['packets'][number]
}

/** Undefined: nothing of this router would be left behind. */
export function bequestOf({ answers, io, keeper, parameters }: Router): Bequest | undefined {
  if (io === undefined || !(answers || keeper.stuck)) return undefined
  const { family, primaryAddress: source, addresses } = parameters
  const { interfaceIndex } = io
  const remove = isOwner(parameters)
    ? []
    : addresses.map((address) => ({ interfaceIndex, address, prefixLength: hostPrefix(address) }))
  const datagrams = answers ? advertisementDatagrams(parameters, 0) : []
  return { remove, release: { family, interfaceIndex, source, datagrams } }
}

export function lastWillOf(
  { unit, name }: { readonly unit: number; readonly name: string },
  bequests: readonly Bequest[],
): LastWill {
  return {
    unit,
    name,
    remove: bequests.flatMap(({ remove }) => remove),
    packets: bequests.flatMap(({ release }) => (release.datagrams.length === 0 ? [] : [release])),
  }
}
