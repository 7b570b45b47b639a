/**
 * What the guardian does when this engine is gone or absent (docs/architecture.md): addresses off, then priority 0, for all
 * members of a sync group at once; and which addresses it renews meanwhile. Addresses that are the node's own
 * (255) are in no will.
 */
import { ownsAddresses } from '../../vrrp/parameters.ts'
import { skewTime } from '../../vrrp/timers.ts'
import { advertisementDatagrams } from '../../vrrp/transmit.ts'
import { type Millis, millis } from '../../wire/units.ts'
import { lifetimeOf } from '../addresses/lifetime.ts'
import type { LastWill, Renewal, WantedAddress } from '../ports.ts'
import type { Router } from '../router.ts'

/** One member's part of it. */
export type Bequest = {
  readonly remove: readonly WantedAddress[]
  readonly renew: readonly Renewal[]
  readonly release: LastWill['packets'][number]
  readonly grace: Millis
}

/** Undefined: nothing of this router would be left behind. */
export function bequestOf(router: Router): Bequest | undefined {
  const { holds, io, keeper, parameters, speaks } = router
  if (io === undefined || !(holds || keeper.stuck)) return undefined
  const { family, primaryAddress: source, addresses, priority, advertisementInterval, version } = parameters
  const { interfaceIndex } = io
  const remove = ownsAddresses(parameters) ? [] : router.places.all(addresses, io)
  const datagrams = speaks ? advertisementDatagrams(parameters, 0) : []
  return {
    remove,
    renew: renewalsOf(router, remove),
    release: { family, interfaceIndex, source, datagrams },
    grace: skewTime(priority, advertisementInterval, version),
  }
}

/** Of an address that is to live for ever only one that does not: somebody, or the configuration of before, has given it an end. */
function renewalsOf({ held, io, parameters, spec }: Router, own: readonly WantedAddress[]): readonly Renewal[] {
  const lifetime = lifetimeOf(spec.lifetime, parameters)
  return own
    .filter(({ address }) => held.includes(address))
    .filter((wanted) => lifetime !== undefined || io?.where(wanted.address).some((here) => hasAnEnd(here, wanted)))
    .map((wanted) => ({ ...wanted, lifetime }))
}

type Found = WantedAddress & { readonly permanent?: boolean }

export const hasAnEnd = (found: Found, { interfaceIndex, prefixLength }: WantedAddress): boolean =>
  found.permanent === false && found.interfaceIndex === interfaceIndex && found.prefixLength === prefixLength

/** `guarded`: there is somebody to renew, and to keep a deadline. */
export type Heading = {
  readonly unit: number
  readonly name: string
  readonly guarded: boolean
  readonly absentAt: Millis | undefined
}

export function lastWillOf({ unit, name, guarded, absentAt }: Heading, bequests: readonly Bequest[]): LastWill {
  const renew = bequests.flatMap((bequest) => bequest.renew)
  // The first of them who may be replaced: a release is worth nothing then.
  const grace = millis(bequests.reduce((least, bequest) => Math.min(least, bequest.grace), Number.POSITIVE_INFINITY))
  return {
    unit,
    name,
    remove: bequests.flatMap(({ remove }) => remove),
    packets: bequests.flatMap(({ release }) => (release.datagrams.length === 0 ? [] : [release])),
    guard: guarded && bequests.length > 0 ? { renew, grace, absentAt } : undefined,
  }
}
