/**
 * Changes from one configuration to the next while the daemon runs (VR-CFG-08). Routers are removed, added or get new
 * parameters, in an order that leaves a router without a difference untouched. This file decides which changes replace
 * a router. This file knows nothing about files, and what a router does with new parameters.
 */
import type { Config, VirtualRouter } from '../config/config.ts'
import type { ConfigDiff } from '../config/diff.ts'
import type { ResolvedRouter } from '../config/resolve.ts'
import { sourceOf } from '../config/schema/transport.ts'
import { heldAddresses } from '../config/schema/virtual-address.ts'
import { ownsAddresses } from '../vrrp/parameters.ts'
import type { Address } from '../wire/address.ts'
import type { Millis } from '../wire/units.ts'
import type { AddressLedger } from './addresses/ledger.ts'
import type { Admission } from './admission.ts'
import type { Placement } from './placement.ts'
import type { WantedAddress } from './ports.ts'
import { postEvent } from './router/post-event.ts'
import type { Registry } from './router/registry.ts'
import type { Router } from './router/router.ts'
import { specOf } from './router/router-spec.ts'

export type RouterChange = {
  readonly router: string
  readonly change: 'added' | 'removed' | 'recreated' | 'changed'
}

export type ReloadReport =
  | {
      readonly ok: true
      readonly changes: readonly RouterChange[]
      readonly unchanged: number
      readonly groupsChanged: boolean
      /** Names of health checks that were added, removed or changed. */
      readonly checksChanged: readonly string[]
      /** Configuration keys whose new values take effect at the next start. */
      readonly restartOnly: readonly string[]
    }
  | { readonly ok: false; readonly reason: string }

/**
 * The program that handed a configuration over, with the names that it gave. `again` is true if the text is the same as
 * before, which no event reports.
 */
export type HandOver = { readonly by: string | null; readonly revision: string | null; readonly again: boolean }

/** Returns the fields of an event about a configuration that was handed over. */
export const handOverFields = (
  handOver: HandOver | undefined,
): { readonly by?: string; readonly revision?: string } => ({
  ...(handOver?.by == null ? {} : { by: handOver.by }),
  ...(handOver?.revision == null ? {} : { revision: handOver.revision }),
})

/** The changes that lead from one configuration to the next. */
export type ReloadPlan = {
  readonly report: Extract<ReloadReport, { ok: true }>
  readonly departing: readonly string[]
  readonly changing: readonly string[]
}

/** Facts about the running routers that a reload plan needs. */
export type Present = {
  /** Addresses that a router removed by the reload still answers for and will remove. */
  readonly held: ReadonlySet<Address>
  /** Routers that should be on another interface than their present one. */
  readonly elsewhere: ReadonlySet<string>
}

export function planReload(old: Config, next: Config, diff: ConfigDiff, { held, elsewhere }: Present): ReloadPlan {
  const { added, removed, recreated, changed, unchanged, groupsChanged, checksChanged, restartOnly } = diff
  const moved = new Set([...movedAddresses(old, next), ...held])
  const before = new Map(old.virtualRouters.map((router) => [router.name, router]))
  const after = new Map(next.virtualRouters.map((router) => [router.name, router]))
  const isAnother = (name: string): boolean => {
    // `interface: auto` found another network. A router must listen to that LAN before it becomes Active there.
    if (elsewhere.has(name)) return true
    const [then, now] = [before.get(name), after.get(name)]
    // Another source address needs another socket, and changes the election between equal priorities.
    return then !== undefined && now !== undefined && (sourceOf(then) !== sourceOf(now) || gains(then, now, moved))
  }
  const replaced = [...recreated, ...changed.filter(isAnother)]
  const changing = changed.filter((name) => !isAnother(name))
  const list = (change: RouterChange['change'], names: readonly string[]) =>
    names.map((router): RouterChange => ({ router, change }))
  const changes = [
    ...list('removed', removed),
    ...list('recreated', replaced),
    ...list('changed', changing),
    ...list('added', added),
  ]
  return {
    report: { ok: true, changes, unchanged: unchanged.length, groupsChanged, checksChanged, restartOnly },
    departing: [...removed, ...replaced],
    changing,
  }
}

/**
 * Returns addresses that move from one router to another. The new router waits until the former one has released them.
 */
function movedAddresses(old: Config, next: Config): ReadonlySet<Address> {
  const holder = new Map(old.virtualRouters.flatMap((router) => heldAddresses(router).map((vip) => [vip, router.name])))
  return new Set(
    next.virtualRouters.flatMap((router) =>
      heldAddresses(router).filter((vip) => holder.has(vip) && holder.get(vip) !== router.name),
    ),
  )
}

const gains = (then: VirtualRouter, now: VirtualRouter, moved: ReadonlySet<Address>): boolean =>
  heldAddresses(now).some((vip) => moved.has(vip) && !heldAddresses(then).includes(vip))

/** The parts of the engine that a reload changes. */
export type Reloading = {
  readonly registry: Registry
  readonly placement: Placement
  readonly ledger: AddressLedger
  readonly admission: Admission
}

/**
 * Posts the events of a reload. The effects of these events run at the end of the turn. Returns the addresses that
 * routers lose; the caller removes them in this turn.
 */
export function applyReload(
  plan: ReloadPlan,
  next: Config,
  engine: Reloading,
  resolution: readonly ResolvedRouter[],
  now: Millis,
): readonly WantedAddress[] {
  const { admission, ledger, placement, registry } = engine
  const departed = plan.departing.flatMap((name) => registry.depart(name) ?? [])
  // The ledger lists new addresses before the first of them can be installed.
  ledger.cover(resolution)
  // A removed router leaves its sync group before it is shut down, because otherwise all members of the group would
  // leave.
  registry.regroup(next.syncGroups, now)
  for (const router of departed) postEvent(router, { kind: 'shutdown' }, now)
  const dropped = resolution.flatMap((resolved) => {
    const router = registry.routers.get(resolved.name)
    if (router === undefined) return []
    const lost = plan.changing.includes(resolved.name) ? change(router, resolved, placement, now) : []
    router.duty.forgive(now)
    return lost
  })
  placement.refresh(registry.routers, now, resolution)
  for (const router of registry.routers.values()) dropTrackers(router, now)
  admission.admit(now)
  return dropped
}

function change(router: Router, resolved: ResolvedRouter, placement: Placement, now: Millis): readonly WantedAddress[] {
  const { parameters: previous, io } = router
  placement.keepReplaced(resolved, router)
  const priority = placement.priorityOf(resolved, router)
  const dropped = previous.addresses.filter((address) => !resolved.parameters.addresses.includes(address))
  router.reconfigure(specOf(resolved), { ...resolved.parameters, priority }, now)
  return io === undefined || ownsAddresses(previous) ? [] : router.places.all(dropped, io)
}

/** Clears the faults of trackers that no longer exist, because nothing else would clear them. */
function dropTrackers(router: Router, now: Millis): void {
  const tracked = new Set<string>(router.priority.tracking.faults.map(({ fault }) => fault))
  for (const fault of router.faults) {
    const place = /^addressInterfaceDown:(.*)$/.exec(fault)?.[1]
    const isLeft = place !== undefined && router.spec.forms.every(({ interfaceName }) => interfaceName !== place)
    const isTracker = fault.startsWith('trackedInterfaceDown:') || fault.startsWith('healthcheck') || isLeft
    if (isTracker && !tracked.has(fault)) router.setFault(fault, false, false, now)
  }
}
