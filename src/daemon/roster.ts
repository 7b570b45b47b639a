/**
 * Which virtual routers this daemon has: those of the configuration, and those that a reload has sent on their way out
 * and that still answer for addresses; and which of them move together. Decided here: who has to wait until somebody is
 * gone, because a LAN must never see two routers of one VRID behind one address of ours. Refuses to know interfaces,
 * packets and deadlines.
 */
import type { SyncGroup } from '../config/config.ts'
import type { ResolvedRouter } from '../config/resolve.ts'
import type { StartReason } from '../vrrp/extensions/group-agreement.ts'
import { isOwner } from '../vrrp/parameters.ts'
import type { Address } from '../wire/address.ts'
import type { Millis } from '../wire/units.ts'
import type { EffectRunner } from './effect-runner.ts'
import type { LastWillPort } from './ports.ts'
import { Router, type RouterSpec } from './router.ts'
import { RouterGroup } from './router-group.ts'
import { GapNews } from './telemetry/gap-news.ts'
import type { Recorder } from './telemetry/recorder.ts'
import type { TakeoverTimes } from './telemetry/takeover-watch.ts'
import type { Entered } from './telemetry/transition-history.ts'

export type RosterContext = {
  readonly recorder: Recorder
  readonly runner: EffectRunner
  readonly will: LastWillPort
  readonly takeovers: TakeoverTimes
  readonly onTransition: (router: Router, entered: Entered) => void
  readonly onAskChecks: (router: Router, within: Millis) => void
}

export function specOf(resolved: ResolvedRouter): RouterSpec {
  const {
    name,
    configuredFault,
    forms,
    parameters,
    announce,
    announceOther,
    lifetime,
    notify,
    onDuplicate,
    duplicateAllowed,
    track,
  } = resolved
  const basePriority = parameters.priority
  return {
    name,
    basePriority,
    configuredFault,
    forms,
    track,
    announce,
    announceOther,
    lifetime,
    notify,
    onDuplicate,
    duplicateAllowed,
  }
}

export class Roster {
  readonly #context: RosterContext
  readonly #gapNews: GapNews
  readonly #routers = new Map<string, Router>()
  readonly #departing = new Set<Router>()
  /** Both, rebuilt when one of them changes: every turn goes through it. */
  #all: readonly Router[] = []
  #units = 0
  /** Of routers that have gone: what the operator asked of a name holds for who has it next. */
  readonly #yields = new Map<string, Millis>()
  /** The guardian counts to 65 535: a unit that nobody has is used again. */
  readonly #freeUnits: number[] = []

  constructor(context: RosterContext) {
    this.#context = context
    this.#gapNews = new GapNews(context.recorder.chronicle)
  }

  /** Those of the configuration, by name. */
  get routers(): ReadonlyMap<string, Router> {
    return this.#routers
  }

  /** And those on their way out. */
  get all(): readonly Router[] {
    return this.#all
  }

  get departing(): ReadonlySet<Router> {
    return this.#departing
  }

  get groups(): ReadonlySet<RouterGroup> {
    return new Set(this.#all.map(({ group }) => group))
  }

  /** In a group of its own, and not started. */
  add(resolved: ResolvedRouter, now: Millis): Router {
    const { recorder, runner, onAskChecks, onTransition, takeovers } = this.#context
    const group = this.#newGroup(undefined)
    const shared = { group, runner, recorder, takeovers, gapNews: this.#gapNews }
    const router = new Router(specOf(resolved), resolved.parameters, shared, now)
    router.onTransition = (entered) => onTransition(router, entered)
    router.onAskChecks = (within) => onAskChecks(router, within)
    const yieldingUntil = this.#yields.get(resolved.name)
    this.#yields.delete(resolved.name)
    // Whose addresses are its own cannot step aside (RFC 9568 §6.1).
    if (yieldingUntil !== undefined && yieldingUntil > now && !isOwner(resolved.parameters)) {
      router.priority.lowerUntil(yieldingUntil)
    }
    this.#routers.set(resolved.name, router)
    this.#count()
    return router
  }

  /** It has left the configuration. Regroup, then tell it. */
  depart(name: string): Router | undefined {
    const router = this.#routers.get(name)
    if (router === undefined) return undefined
    if (router.priority.yieldingUntil !== undefined) this.#yields.set(name, router.priority.yieldingUntil)
    this.#routers.delete(name)
    this.#departing.add(router)
    this.#count()
    return router
  }

  /** Those that answer for nothing any more; they are nobody's from now on. */
  takeDeparted(): readonly Router[] {
    const departed = [...this.#departing].filter(({ state, keeper }) => state.name === 'Initialize' && !keeper.stuck)
    for (const router of departed) {
      this.#departing.delete(router)
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

  /** Who gets one of them before it is free loses it when it is taken off. */
  heldByDeparting(): ReadonlySet<Address> {
    return new Set([...this.#departing].flatMap(({ parameters }) => parameters.addresses))
  }

  /** Somebody on his way out has this router's name, its VRID or one of its addresses. */
  isInTheWayOf({ name, parameters: { vrid, family, addresses } }: ResolvedRouter): boolean {
    return [...this.#departing].some(
      ({ name: other, parameters }) =>
        other === name ||
        (parameters.vrid === vrid && parameters.family === family) ||
        addresses.some((address) => parameters.addresses.includes(address)),
    )
  }

  /**
   * Makes the groups what the configuration says, of the routers that are here; who leaves leaves alone. A group whose
   * members stay the same is not touched. The others are brought to where a group can be (VR-SG-01…03) when `settle`.
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
        const group = this.#newGroup(name)
        for (const member of members) member.moveToGroup(group)
        return group
      })
    // New wills before old ones go: there is no moment in which a crash leaves an address behind.
    for (const group of fresh) if (group.will.owes) group.will.arm()
    const executed = new Set<RouterGroup>()
    for (const [group, members] of before) {
      if (group.members.length > 0 || this.#dissolve(group)) continue
      for (const member of members) executed.add(member.group)
    }
    for (const group of executed) group.takeExecution(now)
    // Who goes is only told to: alone, and free of the faults of its group, it would start once more.
    const goes = (member: Router) => this.#departing.has(member)
    for (const group of fresh) if (!group.members.some(goes)) group.settle(now, reason)
  }

  #newGroup(name: string | undefined): RouterGroup {
    const { recorder, runner, will } = this.#context
    return new RouterGroup(name, this.#freeUnits.pop() ?? this.#units++, { recorder, runner, will })
  }

  /** False: the guardian has executed its will, and nobody has noticed so far. */
  #dissolve(group: RouterGroup): boolean {
    this.#freeUnits.push(group.will.unit)
    return group.will.handOver()
  }

  #count(): void {
    this.#all = [...this.#routers.values(), ...this.#departing]
  }
}

/** They are one group already, of that name and of nobody else. */
function isGroup(members: readonly Router[], name: string | undefined): boolean {
  const group = members[0]?.group
  return (
    group !== undefined &&
    group.name === name &&
    group.members.length === members.length &&
    members.every((member) => member.group === group)
  )
}
