/**
 * Builds the cleanup plan of a group. When this engine has died or is absent, the guardian removes the addresses of all
 * members, then sends priority 0. While the engine is present, the guardian renews the addresses. Addresses that are
 * the node's own (priority 255) are in no plan. When the guardian gets a plan is decided in cleanup.ts.
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

/** The fields of a virtual router that a cleanup plan uses. */
export type Claimant = {
  readonly name: string
  readonly parameters: Parameters
  readonly spec: { readonly lifetime: LifetimeOption }
  /** Interface on which the router runs; `undefined` if the router has no interface. */
  readonly io: AddressIo | undefined
  readonly places: AddressPlaces
  readonly keeper: AddressKeeper
  readonly absence: AbsenceDeadline
  /** True if the router has addresses in the kernel. */
  readonly holds: boolean
  readonly held: readonly Address[]
  /**
   * True if the router must advertise priority 0 when it ends, because peers may still follow this router as the
   * Active. False: peers do not wait for this router.
   */
  readonly needsRelease: boolean
}

/** A member's addresses and packets in the cleanup plan. */
export type PlanPart = {
  readonly remove: readonly WantedAddress[]
  readonly renew: readonly Renewal[]
  readonly release: CleanupPlan['packets'][number]
  readonly grace: Millis
}

/**
 * Returns the part of a router in the cleanup plan; `undefined` if a crash would leave no address of the router behind.
 */
export function planPartOf(router: Claimant): PlanPart | undefined {
  const { holds, io, keeper, parameters, needsRelease } = router
  if (io === undefined || !(holds || keeper.stuck)) return undefined
  const { family, primaryAddress: source, addresses, priority, advertisementInterval, version } = parameters
  const { interfaceIndex } = io
  const remove = ownsAddresses(parameters) ? [] : router.places.all(addresses, io)
  const datagrams = needsRelease ? advertisementDatagrams(parameters, 0) : []
  return {
    remove,
    renew: renewalsOf(router, remove),
    release: { family, interfaceIndex, source, datagrams },
    grace: skewTime(priority, advertisementInterval, version),
  }
}

/**
 * Returns the addresses to renew. An address without a configured lifetime is renewed only if the kernel has a lifetime
 * for it, from another program or the last configuration.
 */
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
  /** True if a guardian runs, which renews the lifetimes of addresses and checks deadlines. */
  readonly guarded: boolean
  readonly absentAt: Millis | undefined
}

export function cleanupPlanOf({ unit, name, guarded, absentAt }: Heading, parts: readonly PlanPart[]): CleanupPlan {
  const renew = parts.flatMap((part) => part.renew)
  // The grace of a plan ends with that of the first member that may be replaced. Priority 0 is useless after that.
  const grace = millis(parts.reduce((least, part) => Math.min(least, part.grace), Number.POSITIVE_INFINITY))
  return {
    unit,
    name,
    remove: parts.flatMap(({ remove }) => remove),
    packets: parts.flatMap(({ release }) => (release.datagrams.length === 0 ? [] : [release])),
    guard: guarded && parts.length > 0 ? { renew, grace, absentAt } : undefined,
  }
}
