/**
 * The virtual routers of this daemon: those of the configuration, and removed ones that still answer for addresses. The
 * registry also has their groups. This file decides which router has to wait until another router has ended. A LAN must
 * never see two routers with one VRID and one source address of this node. This file knows nothing about interfaces,
 * packets and deadlines.
 */
import type { SyncGroup } from '../../config/config.ts'
import type { ResolvedRouter } from '../../config/resolve.ts'
import type { StartReason } from '../../vrrp/extensions/sync-group/agreement.ts'
import { isOwner } from '../../vrrp/parameters.ts'
import type { Address } from '../../wire/address.ts'
import type { Millis } from '../../wire/units.ts'
import { GapNews } from '../telemetry/advertisement-gaps.ts'
import type { Membership } from './membership.ts'
import { Router, type RouterContext } from './router.ts'
import { RouterGroup } from './router-group.ts'
import { specOf } from './router-spec.ts'

export type RegistryContext = Omit<RouterContext, 'awaitsAdoption' | 'gapNews' | 'group' | 'slot'>

/** Numbers of a router in the memory that engine and guardian share. `group` is the name of its sync group. */
export type Numbers = {
  readonly name: string
  readonly group?: string | undefined
  readonly slot: number
  readonly unit: number
}

export class Registry {
  readonly #context: RegistryContext
  readonly #gapNews: GapNews
  readonly #routers = new Map<string, Router>()
  readonly #departing = new Set<Router>()
  /**
   * All virtual routers of this daemon. The list is rebuilt only when a router is added or removed, because every turn
   * reads it.
   */
  #all: readonly Router[] = []
  #units = 0
  /** End of the yield of each removed router. A later router of the same name continues the yield. */
  readonly #yields = new Map<string, Millis>()
  #slots = 0
  /** Numbers of slots of the guardian's clock that a new router can use again. */
  readonly #freeSlots: number[] = []
  /** Numbers of units that a new group can use again, because the guardian has at most 65 535. */
  readonly #freeUnits: number[] = []

  /** Numbers that routers had in an engine that crashed, by name of the router (docs/adr/0088). */
  #reserved: ReadonlyMap<string, Numbers> = new Map()

  constructor(context: RegistryContext) {
    this.#context = context
    this.#gapNews = new GapNews(context.recorder.chronicle)
  }

  /** Routers of the configuration, by name. */
  get routers(): ReadonlyMap<string, Router> {
    return this.#routers
  }

  /** Routers of the configuration, then removed ones that still answer. */
  get all(): readonly Router[] {
    return this.#all
  }

  get departing(): ReadonlySet<Router> {
    return this.#departing
  }

  get groups(): ReadonlySet<Membership<Router>> {
    return new Set(this.#all.map(({ group }) => group))
  }

  /**
   * Gives these routers the numbers that they had in an engine that crashed. The caller must do this before it adds the
   * first router. No other router gets a number of `used`, because the guardian still uses it.
   */
  reserve(wanted: readonly Numbers[], used: readonly Numbers[]): void {
    this.#reserved = new Map(wanted.map((each) => [each.name, each]))
    for (const { slot, unit } of used) {
      this.#slots = Math.max(this.#slots, slot + 1)
      this.#units = Math.max(this.#units, unit + 1)
    }
  }

  /** Gives new numbers to all routers and groups from now on. Routers that were not adopted start as any other one. */
  endReservation(): void {
    this.#reserved = new Map()
    for (const router of this.#all) router.endAdoption()
  }

  /** Adds a router that is not started, as the only member of a new group. */
  add(resolved: ResolvedRouter, now: Millis): Router {
    const reserved = this.#reserved.get(resolved.name)
    const group = this.#newGroup(undefined, reserved?.group === undefined ? reserved?.unit : undefined)
    const slot = reserved?.slot ?? this.#freeSlots.pop() ?? this.#slots++
    const context = { ...this.#context, group, slot, gapNews: this.#gapNews, awaitsAdoption: reserved !== undefined }
    const router = new Router(specOf(resolved), resolved.parameters, context, now)
    const yieldingUntil = this.#yields.get(resolved.name)
    this.#yields.delete(resolved.name)
    // An owner cannot yield (RFC 9568 §6.1).
    if (yieldingUntil !== undefined && yieldingUntil > now && !isOwner(resolved.parameters)) {
      router.lowerPriority(yieldingUntil)
    }
    this.#routers.set(resolved.name, router)
    this.#count()
    return router
  }

  /** Moves a router to the removed routers. The caller then forms the groups again, and shuts the router down. */
  depart(name: string): Router | undefined {
    const router = this.#routers.get(name)
    if (router === undefined) return undefined
    if (router.priority.yieldingUntil !== undefined) this.#yields.set(name, router.priority.yieldingUntil)
    this.#routers.delete(name)
    this.#departing.add(router)
    this.#count()
    return router
  }

  /** Removes the routers that no longer answer for any address, and returns them. */
  takeDeparted(): readonly Router[] {
    const departed = [...this.#departing].filter(({ state, keeper }) => state.name === 'Initialize' && !keeper.stuck)
    for (const router of departed) {
      this.#departing.delete(router)
      this.#freeSlots.push(router.clock.slot)
      this.#dissolve(router.group)
    }
    if (departed.length > 0) this.#count()
    return departed
  }

  answersFor(address: Address): boolean {
    return this.#all.some(
      ({ answers, held, parameters }) => held.includes(address) || (answers && parameters.addresses.includes(address)),
    )
  }

  /**
   * Returns the addresses of removed routers. If a new router installed such an address too early, the removed router
   * would take it away.
   */
  heldByDeparting(): ReadonlySet<Address> {
    return new Set([...this.#departing].flatMap(({ parameters }) => parameters.addresses))
  }

  /** Tells whether a removed router that still answers has the name, the VRID or an address of this router. */
  isInTheWayOf({ name, parameters: { vrid, family, addresses } }: ResolvedRouter): boolean {
    return [...this.#departing].some(
      ({ name: other, parameters }) =>
        other === name ||
        (parameters.vrid === vrid && parameters.family === family) ||
        addresses.some((address) => parameters.addresses.includes(address)),
    )
  }

  /**
   * Forms the groups of the configuration. A removed router gets a group of its own. A group whose members stay the
   * same is not touched. In all other groups, the members are brought to consistent states (VR-SG-01 to VR-SG-03).
   */
  regroup(syncGroups: readonly SyncGroup[], now: Millis, reason?: StartReason): void {
    const named = syncGroups.map(({ name, members }) => ({
      name,
      members: members.flatMap((member) => this.#routers.get(member) ?? []),
    }))
    const grouped = new Set(named.flatMap(({ members }) => members))
    const alone = this.#all.filter((router) => !grouped.has(router)).map((router) => ({ members: [router] }))
    const wanted: readonly { readonly name?: string; readonly members: readonly Router[] }[] = [...named, ...alone]
    const before = new Map([...this.groups].map((group) => [group, group.members]))
    const fresh = wanted
      .filter(({ name, members }) => members.length > 0 && !isGroup(members, name))
      .map(({ name, members }) => {
        const group = this.#newGroup(name, this.#reservedUnit(name, members))
        for (const member of members) member.moveToGroup(group)
        return group
      })
    // New plans are armed before the old plans end, so that no crash can leave an address behind.
    for (const { cleanup } of fresh) if (cleanup.isNeeded) cleanup.arm()
    const executed = new Set<Membership<Router>>()
    for (const [group, members] of before) {
      if (group.members.length > 0 || this.#dissolve(group)) continue
      for (const member of members) executed.add(member.group)
    }
    for (const group of executed) group.takeExecution(now)
    // A removed router is only shut down, and does not get the events of a new group: without the faults of its old
    // group, it would start again.
    const departs = (member: Router) => this.#departing.has(member)
    for (const group of fresh) if (!group.members.some(departs)) group.settle(now, reason)
  }

  #reservedUnit(name: string | undefined, members: readonly Router[]): number | undefined {
    const [first] = members
    const reserved = first && this.#reserved.get(first.name)
    return name !== undefined && reserved?.group === name ? reserved.unit : undefined
  }

  #newGroup(name: string | undefined, unit?: number): Membership<Router> {
    const { recorder, runner, guardian } = this.#context
    return new RouterGroup(name, unit ?? this.#freeUnits.pop() ?? this.#units++, { recorder, runner, guardian })
  }

  /**
   * Ends a group. Returns false if the guardian has executed the cleanup plan of the group and no member knows that
   * yet.
   */
  #dissolve(group: Membership<Router>): boolean {
    this.#freeUnits.push(group.cleanup.unit)
    return group.cleanup.handOver()
  }

  #count(): void {
    this.#all = [...this.#routers.values(), ...this.#departing]
  }
}

/** Tells whether these members are one group already, with that name and no other members. */
function isGroup(members: readonly Router[], name: string | undefined): boolean {
  const group = members[0]?.group
  return (
    group !== undefined &&
    group.name === name &&
    group.members.length === members.length &&
    members.every((member) => member.group === group)
  )
}
