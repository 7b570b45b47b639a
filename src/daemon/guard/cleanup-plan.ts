/**
 * What the guardian does when this engine has died or is absent: it removes the addresses of all members of a sync group,
 * then sends priority 0; and which addresses it renews meanwhile. Addresses that are the node's own (255) are in no plan.
 * Decides the content of a plan. Refuses to know when the guardian gets it, which is cleanup.ts's.
 */
import { ownsAddresses, type Parameters } from '../../vrrp/parameters.ts'
import { skewTime } from '../../vrrp/timers.ts'
import { advertisementDatagrams } from '../../vrrp/transmit.ts'
import type { Address } from '../../wire/address.ts'
import { type Millis, millis } from '../../wire/units.ts'
import type { AddressIo, AddressKeeper } from '../addresses/address-keeper.ts'
import type { AddressPlaces } from '../addresses/address-places.ts'
import { hasAnEnd, type LifetimeOption, lifetimeOf } from '../addresses/lifetime.ts'
import type { CleanupPlan, Renewal, WantedAddress } from '../ports.ts'
import type { AbsenceDeadline } from './absence-deadline.ts'

/** A virtual router, as a cleanup plan needs it. */
export type Claimant = {
  readonly name: string
  readonly parameters: Parameters
  readonly spec: { readonly lifetime: LifetimeOption }
  /** The interface where it runs. */
  readonly io: AddressIo | undefined
  readonly places: AddressPlaces
  readonly keeper: AddressKeeper
  readonly absence: AbsenceDeadline
  /** It has addresses in the kernel. */
  readonly holds: boolean
  readonly held: readonly Address[]
  /** Peers may believe that it is there, so that its end is news to them. */
  readonly speaks: boolean
}

/** One member's part of a plan. */
export type PlanPart = {
  readonly remove: readonly WantedAddress[]
  readonly renew: readonly Renewal[]
  readonly release: CleanupPlan['packets'][number]
  readonly grace: Millis
}

/** Returns `undefined` if a crash would leave nothing of this router behind. */
export function planPartOf(router: Claimant): PlanPart | undefined {
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

/** Of addresses without a lifetime only those that have one in the kernel: another program, or the last configuration, set it. */
function renewalsOf({ held, io, parameters, spec }: Claimant, own: readonly WantedAddress[]): readonly Renewal[] {
  const lifetime = lifetimeOf(spec.lifetime, parameters)
  return own
    .filter(({ address }) => held.includes(address))
    .filter((wanted) => lifetime !== undefined || io?.where(wanted.address).some((here) => hasAnEnd(here, wanted)))
    .map((wanted) => ({ ...wanted, lifetime }))
}

export type Heading = {
  readonly unit: number
  readonly name: string
  /** There is a guardian that renews lifetimes and keeps a deadline. */
  readonly guarded: boolean
  readonly absentAt: Millis | undefined
}

export function cleanupPlanOf({ unit, name, guarded, absentAt }: Heading, parts: readonly PlanPart[]): CleanupPlan {
  const renew = parts.flatMap((part) => part.renew)
  // The first member that may be replaced: a release is worth nothing after that.
  const grace = millis(parts.reduce((least, part) => Math.min(least, part.grace), Number.POSITIVE_INFINITY))
  return {
    unit,
    name,
    remove: parts.flatMap(({ remove }) => remove),
    packets: parts.flatMap(({ release }) => (release.datagrams.length === 0 ? [] : [release])),
    guard: guarded && parts.length > 0 ? { renew, grace, absentAt } : undefined,
  }
}
