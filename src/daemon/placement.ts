/**
 * Gives each virtual router its interface, source address and segment, and sets its faults and priority accordingly.
 * Runs again whenever links or addresses change; without a change it has no effect. This file decides the order in
 * which faults are raised and cleared. This file knows nothing about packets and deadlines.
 */
import { defined } from '../base/defined.ts'
import type { ResolvedRouter } from '../config/resolve.ts'
import { LOG } from '../log/log.ts'
import type { Address } from '../wire/address.ts'
import type { Millis } from '../wire/units.ts'
import type { AddressLedger } from './addresses/ledger.ts'
import { isUp, type NetworkView } from './addresses/network-view.ts'
import { circumstancesOf, type Place } from './circumstances.ts'
import type { Trackers } from './health/trackers.ts'
import type { Segments } from './lan/segments.ts'
import { interfaceFor, type NodeResolution } from './node-resolution.ts'
import type { Link } from './ports.ts'
import { postEvent } from './router/post-event.ts'
import type { Router } from './router/router.ts'
import type { Recorder } from './telemetry/recorder.ts'

type Placed = { readonly router: Router; readonly resolved: ResolvedRouter; readonly place: Place }

export type PlacementContext = {
  readonly resolution: NodeResolution
  readonly segments: Segments
  readonly view: NetworkView
  readonly ledger: AddressLedger
  readonly trackers: Trackers
  readonly recorder: Recorder
}

export class Placement {
  readonly #context: PlacementContext

  constructor(context: PlacementContext) {
    this.#context = context
  }

  /**
   * Tells whether a change of this interface, or of this address on the interface, can change the interface or source
   * address of a router.
   */
  matters(interfaceName: string | undefined, address?: Address): boolean {
    const { resolution, segments } = this.#context
    if (resolution.matters(interfaceName, address)) return true
    // A removed router that still answers for addresses may be the last router on this interface.
    return segments.all.some((segment) => segment.interfaceName === interfaceName)
  }

  /**
   * Returns the names of routers that should be on another interface than they are. Only `interface: auto` and followed
   * addresses cause that.
   */
  elsewhere(routers: ReadonlyMap<string, Router>, resolved: readonly ResolvedRouter[]): ReadonlySet<string> {
    const moved = resolved.filter((each) => {
      const here = routers.get(each.name)?.io?.interfaceName
      return here !== undefined && interfaceFor(each, here) !== here
    })
    return new Set(moved.map(({ name }) => name))
  }

  /**
   * Puts removed routers that still answer into fault if their interface is down. No configuration names these routers
   * any longer, but without its interface a router cannot stay in Leaving.
   */
  strand(departing: Iterable<Router>, now: Millis): void {
    for (const router of departing) {
      const link = this.#linkOf(router)
      if (!isUp(link)) router.setFault(link === undefined ? 'interfaceMissing' : 'linkDown', true, false, now)
    }
  }

  /**
   * Keeps the contributions of trackers that a reload replaces. Replaced contributions count until the new trackers
   * have results.
   */
  keepReplaced({ track }: ResolvedRouter, { priority }: Router): void {
    priority.keepReplaced(this.#context.trackers.replaced(priority.tracking.parts, track))
  }

  /** Returns the effective priority from base priority and trackers, for the router's present interface. */
  priorityOf(resolved: ResolvedRouter, router: Router): number {
    const { trackers, view } = this.#context
    const place = { link: this.#linkOf(router), source: resolved.source, taken: false }
    return circumstancesOf(resolved, place, { trackers, view }, false, router.priority.replaced).tracking.priority
  }

  /** Returns the interface of a router, or `undefined` if the router has none or the interface is gone. */
  #linkOf({ io }: Router): Link | undefined {
    return io === undefined ? undefined : this.#context.view.link(io.interfaceIndex)
  }

  /** Detaches a removed router and closes segments without routers. */
  release(router: Router): void {
    const { segments } = this.#context
    segments.detach(router)
    segments.closeUnused()
  }

  /**
   * Applies the present interfaces, addresses and trackers to the routers. Runs after every change of an interface, an
   * address or a tracker.
   */
  refresh(
    routers: ReadonlyMap<string, Router>,
    now: Millis,
    resolved: readonly ResolvedRouter[] = this.#context.resolution.resolve(),
  ): void {
    const { ledger, segments, trackers, view } = this.#context
    segments.follow(now)
    ledger.cover(resolved)
    for (const { held, name } of resolved) routers.get(name)?.follow(held)
    const found = this.#placesOf(resolved, routers).map(({ router, resolved: each, place }) => {
      const { link, source, taken } = place
      if (link !== undefined && source !== undefined && !taken) this.#attach(router, each, link, source, now)
      const starts = router.state.name === 'Initialize'
      const { faults, tracking } = circumstancesOf(each, place, { trackers, view }, starts, router.priority.replaced)
      return { router, faults, tracking, lost: link === undefined || taken }
    })
    // Faults come before the priority. A router that can no longer take part leaves with its former priority
    // (VR-TRK-09), and does not advertise another priority first.
    for (const { router, faults, tracking, lost } of found) {
      for (const { fault, present, canSend } of faults) if (present) router.setFault(fault, true, canSend, now)
      const changed = router.adoptTracking(tracking, now)
      if (changed !== undefined) postEvent(router, changed, now)
      if (lost) segments.detach(router)
    }
    // Sockets are opened before faults are cleared: a router that starts because its last fault was cleared needs an
    // open socket.
    segments.open(now)
    for (const { router, faults } of found) {
      for (const { fault, present } of faults) if (!present) router.setFault(fault, false, false, now)
    }
  }

  /**
   * Returns the interface and source address of each router. `interface: auto` may bring two routers with one VRID to
   * one interface. The router that already runs there stays; if none does, the first router in the configuration gets
   * the interface. The router that does not get the interface has a fault, because it would receive the packets of the
   * first router.
   */
  #placesOf(resolution: readonly ResolvedRouter[], routers: ReadonlyMap<string, Router>): readonly Placed[] {
    const places = resolution.flatMap((resolved) => {
      const router = routers.get(resolved.name)
      if (router === undefined) return []
      const name = interfaceFor(resolved, router.io?.interfaceName)
      const link = name === undefined ? undefined : this.#context.view.linkNamed(name)
      return [{ router, resolved, link, source: this.#sourceFor(router, resolved, link) }]
    })
    const first = new Map<string, Router>()
    const keyOf = ({ router, link }: (typeof places)[number]) =>
      `${link?.index} ${router.parameters.family} ${router.parameters.vrid}`
    for (const place of places) {
      const { router, link } = place
      const isThere = router.io !== undefined && router.io.interfaceIndex === link?.index
      if (link !== undefined && (isThere || !first.has(keyOf(place)))) first.set(keyOf(place), router)
    }
    return places.map((place) => {
      const { router, resolved, link, source } = place
      const taken = link !== undefined && first.get(keyOf(place)) !== router
      return { router, resolved, place: { link, source, taken } }
    })
  }

  /**
   * Returns the source address of a router. A source address stays until the interface loses it (VR-TX-03), because a
   * new address must not change the election between equal priorities.
   */
  #sourceFor(router: Router, resolved: ResolvedRouter, link: Link | undefined): Address | undefined {
    const { primaryAddress } = router.parameters
    if (link === undefined || resolved.fault === 'sourceAddressMissing') return undefined
    const { view } = this.#context
    const { held, source } = resolved
    // A router that follows an address sends from that address only.
    const isFollowed = source !== undefined && source === held?.address && view.canSendFrom(link.index, source)
    if (!isFollowed && router.io !== undefined && view.canSendFrom(link.index, primaryAddress)) return primaryAddress
    return source !== undefined && view.canSendFrom(link.index, source) ? source : undefined
  }

  #attach(router: Router, resolved: ResolvedRouter, link: Link, source: Address, now: Millis): void {
    const { segments } = this.#context
    const { family, vrid } = resolved.parameters
    const segment = segments.at(link, family, source)
    if (router.io === segment) return
    const left = router.io?.interfaceName
    segments.detach(router)
    const { priority } = router.parameters
    segment.routers.set(vrid, router)
    router.moveTo(segment, { ...resolved.parameters, primaryAddress: source, priority })
    if (left !== undefined) {
      router.takeAddressesAlong()
      this.#tellMove(router, left, link.name, source)
    }
    // Another program may have installed a VIP while the router had no interface and could not see the VIP.
    if (!router.answers && !router.awaitsAdoption) router.duty.restore(now)
  }

  #tellMove({ following, spec, title }: Router, from: string, to: string, self: Address): void {
    if (from === to) return
    const holding = following?.address
    const { recorder } = this.#context
    const why = holding === undefined ? '' : `, where ${holding} is`
    recorder.logLimited(
      `moved ${spec.name}`,
      LOG.interfaceMoved,
      `${title}: moved from interface ${from} to ${to}${why}`,
      {
        router: spec.name,
      },
    )
    recorder.chronicle.record({
      ...{ kind: 'interfaceMoved', router: spec.name, from, to, self },
      ...defined({ holding }),
    })
  }
}
