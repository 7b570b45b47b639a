/**
 * Where each virtual router runs: which interface, which source address, which sockets, and what that means for its
 * faults and its priority. Asked again whenever links or addresses changed; idempotent. Decided here: what is opened
 * and closed, and in which order faults are raised and cleared. Refuses to know packets and deadlines.
 */
import type { Config } from '../config/config.ts'
import { holdingOf, nameOfInterface } from '../config/holding.ts'
import type { NodeView } from '../config/node-view.ts'
import { type ResolvedRouter, resolveRouters } from '../config/resolve.ts'
import { interfacesIn } from '../config/schema/track.ts'
import { otherInterfaces } from '../config/schema/virtual-address.ts'
import { ownsAddresses } from '../vrrp/parameters.ts'
import type { Address } from '../wire/address.ts'
import { type Millis, plus } from '../wire/units.ts'
import { AddressFiles } from './addresses/address-files.ts'
import type { Journal } from './addresses/ledger.ts'
import { ownedAddresses, virtualAddresses } from './addresses/sweep.ts'
import { circumstancesOf, type Place } from './circumstances.ts'
import type { Trackers } from './health/trackers.ts'
import { isUp } from './lan/link-state.ts'
import { Segment, type SegmentContext } from './lan/segment.ts'
import type { Link } from './ports.ts'
import type { Router } from './router.ts'

/** Soon at first: what the kernel still has to do to a new interface or address takes milliseconds. */
const OPEN_RETRY_FIRST = 20
const OPEN_RETRY_LAST = 1_000

type Placed = { readonly router: Router; readonly resolved: ResolvedRouter; readonly place: Place }

export class Placement {
  #config: Config
  readonly #context: SegmentContext
  readonly #journal: Journal
  readonly #trackers: Trackers
  readonly #files: AddressFiles
  readonly #segments = new Map<string, Segment>()
  /** The same, rebuilt when it changes: every turn goes through it several times. */
  #all: readonly Segment[] = []
  /** Interfaces whose changes can mean something; undefined = `auto` looks at all of them. */
  #interfaces: ReadonlySet<string> | undefined
  /** Addresses that the configuration itself wants followed. */
  #written: readonly Address[]
  /** VIPs that a reload dropped, as long as they are here: neither a source nor a reason to choose an interface. */
  readonly #retired = new Set<Address>()
  #openAgainAt: Millis | undefined
  #openRetry = OPEN_RETRY_FIRST

  constructor(
    config: Config,
    context: SegmentContext,
    journal: Journal,
    trackers: Trackers,
    files = new AddressFiles(undefined, context.recorder),
  ) {
    this.#config = config
    this.#files = files
    this.#context = context
    this.#journal = journal
    this.#trackers = trackers
    this.#interfaces = interfacesOf(config)
    this.#written = followedIn(config)
  }

  get segments(): readonly Segment[] {
    return this.#all
  }

  /** A socket could not be opened; the next try. */
  get openAgainAt(): Millis | undefined {
    return this.#openAgainAt
  }

  /** A Kubernetes node has hundreds of interfaces that come and go; each new look at ours costs time. */
  matters(interfaceName: string | undefined, address?: Address): boolean {
    if (this.#interfaces === undefined || interfaceName === undefined || this.#interfaces.has(interfaceName))
      return true
    if (this.#followsTo(interfaceName, address)) return true
    // Somebody on his way out may be the last one there.
    return this.segments.some((segment) => segment.interfaceName === interfaceName)
  }

  /** It is an address that a router follows, or the interface has one. */
  #followsTo(interfaceName: string, address: Address | undefined): boolean {
    const { view } = this.#context
    for (const followed of this.#followed()) {
      if (followed === address) return true
      if (view.where(followed).some((place) => view.link(place.interfaceIndex)?.name === interfaceName)) return true
    }
    return false
  }

  *#followed(): Generator<Address> {
    yield* this.#written
    for (const { inForce, reading } of this.#files.named.values()) {
      if ('address' in reading) yield reading.address
      if (inForce !== undefined) yield inForce
    }
  }

  resolve(): readonly ResolvedRouter[] {
    return resolveRouters(this.#config, this.#nodeView(this.#retired)).routers
  }

  /** The node as a new configuration is to be judged by: without what is here because of the one in force. */
  nodeView(): NodeView {
    return this.#nodeView(new Set([...this.#retired, ...virtualAddresses(this.#config)]))
  }

  #nodeView(without: ReadonlySet<Address>): NodeView {
    const { view } = this.#context
    for (const address of this.#retired) if (view.where(address).length === 0) this.#retired.delete(address)
    const interfaces = view.links().map(({ index, name, mtu, portOf }) => {
      const addresses = [...view.on(index, 'ipv4'), ...view.on(index, 'ipv6')]
      return { name, mtu, portOf, addresses: addresses.filter(({ address }) => !without.has(address)) }
    })
    if (this.#files.named.size > 0) this.#settleFiles()
    return { interfaces, files: this.#files.named }
  }

  #settleFiles(): void {
    const { view } = this.#context
    const virtual = virtualAddresses(this.#config)
    const isOwn = (address: Address) => !virtual.has(address) && !this.#retired.has(address)
    this.#files.settle((address) => isOwn(address) && view.where(address).length > 0)
  }

  /** A reload; refresh() brings what it means. */
  reconfigure(next: Config): void {
    const vips = virtualAddresses(next)
    for (const address of virtualAddresses(this.#config)) if (!vips.has(address)) this.#retired.add(address)
    for (const address of [...vips, ...ownedAddresses(next)]) this.#retired.delete(address)
    this.#config = next
    this.#interfaces = interfacesOf(next)
    this.#written = followedIn(next)
  }

  /** Routers that are on another interface than where they should be, which no name can bring about. */
  elsewhere(routers: ReadonlyMap<string, Router>, resolution: readonly ResolvedRouter[]): ReadonlySet<string> {
    const moved = resolution.filter((resolved) => {
      const here = routers.get(resolved.name)?.io?.interfaceName
      return here !== undefined && nameFor(resolved, here) !== here
    })
    return new Set(moved.map(({ name }) => name))
  }

  /** No configuration names them any more, but without its link nobody is Leaving (docs/architecture.md, Protocol decisions). */
  strand(departing: Iterable<Router>, now: Millis): void {
    for (const router of departing) {
      if (router.io === undefined) continue
      const link = this.#context.view.link(router.io.interfaceIndex)
      if (!isUp(link)) router.setFault(link === undefined ? 'interfaceMissing' : 'linkDown', true, false, now)
    }
  }

  /** A reload is about to change what the router tracks: what that takes away counts until there is something to count. */
  keepReplaced({ track }: ResolvedRouter, { priority }: Router): void {
    priority.keepReplaced(this.#trackers.replaced(priority.tracking.parts, track))
  }

  /** What base and trackers come to, where the router is now. */
  priorityOf(resolved: ResolvedRouter, { io, priority }: Router): number {
    const { view } = this.#context
    const link = io === undefined ? undefined : view.link(io.interfaceIndex)
    const place = { link, source: resolved.source, taken: false }
    return circumstancesOf(resolved, place, { trackers: this.#trackers, view }, false, priority.replaced).tracking
      .priority
  }

  /** The router is nobody's any more; closes what nobody uses. */
  release(router: Router): void {
    this.#detach(router)
    for (const [key, segment] of this.#segments) {
      if (segment.routers.size > 0) continue
      segment.close()
      this.#segments.delete(key)
    }
    this.#all = [...this.#segments.values()]
  }

  /** Links, addresses and trackers to faults, priorities and sockets. Idempotent; run whenever one of them changed. */
  refresh(routers: ReadonlyMap<string, Router>, now: Millis, resolution = this.resolve()): void {
    const { view } = this.#context
    for (const segment of this.#segments.values()) {
      const link = view.link(segment.interfaceIndex)
      if (link !== undefined) segment.follow(link, now)
    }
    this.keepJournal(resolution)
    for (const { held, name } of resolution) {
      const router = routers.get(name)
      router?.follow(held)
    }
    const found = this.#placesOf(resolution, routers).map(({ router, resolved, place }) => {
      const { link, source, taken } = place
      if (link !== undefined && source !== undefined && !taken) this.#attach(router, resolved, link, source, now)
      const starts = router.state.name === 'Initialize'
      const { faults, tracking } = circumstancesOf(
        resolved,
        place,
        { trackers: this.#trackers, view },
        starts,
        router.priority.replaced,
      )
      return { router, faults, tracking, lost: link === undefined || taken }
    })
    // A fault comes before the priority: a router that cannot take part any more leaves with the priority it had
    // (VR-TRK-09), and does not advertise another one first.
    for (const { router, faults, tracking, lost } of found) {
      for (const { fault, present, canSend } of faults) if (present) router.setFault(fault, true, canSend, now)
      router.followTrackers(tracking, now)
      if (lost) this.#detach(router)
    }
    // Whoever starts because its last fault is cleared must find its socket open, and no other fault behind it.
    this.open(now)
    for (const { router, faults } of found) {
      for (const { fault, present } of faults) if (!present) router.setFault(fault, false, false, now)
    }
  }

  /**
   * Of two that `auto` brings to one interface with one VRID the one that is there stays, or else the first of the
   * file: the other one's packets would be taken for its own.
   */
  #placesOf(resolution: readonly ResolvedRouter[], routers: ReadonlyMap<string, Router>): readonly Placed[] {
    const places = resolution.flatMap((resolved) => {
      const router = routers.get(resolved.name)
      if (router === undefined) return []
      const name = nameFor(resolved, router.io?.interfaceName)
      const link = name === undefined ? undefined : this.#context.view.linkNamed(name)
      return [{ router, resolved, link, source: this.#sourceFor(router, resolved, link) }]
    })
    const holders = new Map<string, Router>()
    const keyOf = ({ router, link }: (typeof places)[number]) =>
      `${link?.index} ${router.parameters.family} ${router.parameters.vrid}`
    for (const place of places) {
      const { router, link } = place
      const isThere = router.io !== undefined && router.io.interfaceIndex === link?.index
      if (link !== undefined && (isThere || !holders.has(keyOf(place)))) holders.set(keyOf(place), router)
    }
    return places.map((place) => {
      const { router, resolved, link, source } = place
      const taken = link !== undefined && holders.get(keyOf(place)) !== router
      return { router, resolved, place: { link, source, taken } }
    })
  }

  /** The source chosen at start stays until it disappears (VR-TX-03): a new address must not change a tie-break. */
  #sourceFor(router: Router, resolved: ResolvedRouter, link: Link | undefined): Address | undefined {
    const { primaryAddress } = router.parameters
    if (link === undefined || resolved.fault === 'sourceAddressMissing') return undefined
    const { view } = this.#context
    const { held, source } = resolved
    // Who follows an address sends from it, and from no other one that is here as well.
    const isFollowed = source !== undefined && source === held?.address && view.canSendFrom(link.index, source)
    if (!isFollowed && router.io !== undefined && view.canSendFrom(link.index, primaryAddress)) return primaryAddress
    return source !== undefined && view.canSendFrom(link.index, source) ? source : undefined
  }

  #attach(router: Router, resolved: ResolvedRouter, link: Link, source: Address, now: Millis): void {
    const { family, vrid } = resolved.parameters
    const key = `${link.index} ${family} ${source}`
    const segment = this.#segments.get(key) ?? new Segment(link, family, source, this.#context)
    if (!this.#segments.has(key)) this.#all = [...this.#segments.set(key, segment).values()]
    if (router.io === segment) return
    const left = router.io?.interfaceName
    this.#detach(router)
    const { priority } = router.parameters
    segment.routers.set(vrid, router)
    router.moveTo(segment, { ...resolved.parameters, primaryAddress: source, priority })
    if (left !== undefined) {
      router.takeAddressesAlong()
      this.#tellMove(router, left, link.name, source)
    }
    // Somebody may have added one while it had no interface and could not look.
    if (!router.answers) router.duty.restore(now)
  }

  #tellMove({ following, spec, title }: Router, from: string, to: string, self: Address): void {
    if (from === to) return
    const holding = following?.address
    const { recorder } = this.#context
    const why = holding === undefined ? '' : `, where ${holding} is`
    recorder.logLimited(`moved ${spec.name}`, 'info', `${title}: goes from ${from} to ${to}${why}`, {
      router: spec.name,
    })
    recorder.chronicle.record({
      ...{ kind: 'interfaceMoved', router: spec.name, from, to, self },
      ...(holding === undefined ? {} : { holding }),
    })
  }

  #detach(router: Router): void {
    for (const segment of this.#segments.values()) {
      if (segment.routers.get(router.parameters.vrid) !== router) continue
      segment.routers.delete(router.parameters.vrid)
      segment.cancelAnnouncements(router)
    }
    router.leaveInterface()
  }

  /** After all routers are attached, so that one open serves them all; and closes what nobody can use. */
  open(now: Millis): void {
    let failed = false
    for (const [key, segment] of this.#segments) {
      if (segment.routers.size === 0) {
        segment.close()
        this.#segments.delete(key)
        this.#all = [...this.#segments.values()]
        continue
      }
      const usable = segment.isUsable()
      if (!usable) segment.close()
      const failure = usable ? segment.open() : undefined
      if (failure !== undefined) {
        const { code, message } = failure
        const { interfaceName } = segment
        const { recorder } = this.#context
        recorder.logLimited(`open ${interfaceName} ${code}`, 'error', message, { interface: interfaceName, code })
        failed = true
      }
      for (const router of segment.routers.values()) router.setFault('socketFailed', failure !== undefined, false, now)
      segment.watchClaims()
    }
    this.#openAgainAt = failed ? plus(now, this.#openRetry) : undefined
    this.#openRetry = failed ? Math.min(2 * this.#openRetry, OPEN_RETRY_LAST) : OPEN_RETRY_FIRST
  }

  /** Before the first VIP can be installed on an interface, which for `auto` may be found late. */
  keepJournal(resolved: readonly ResolvedRouter[]): void {
    const problem = this.#journal.add(
      resolved.flatMap(({ forms, interfaceName: own, parameters }) =>
        ownsAddresses(parameters)
          ? []
          : forms.flatMap(({ address, prefixLength, interfaceName = own }) =>
              interfaceName === undefined ? [] : { address, prefixLength, interfaceName },
            ),
      ),
    )
    // Tried again with every change of the network: a full disk must not fill the log as well.
    if (problem !== undefined) this.#context.recorder.logLimited('journal unwritten', 'warn', problem)
  }
}

/** Whose changes can mean something; undefined = all. */
function interfacesOf({ virtualRouters, syncGroups }: Config): ReadonlySet<string> | undefined {
  const tracked = [...virtualRouters, ...syncGroups].flatMap(({ track }) =>
    interfacesIn(track).map((tracker) => tracker.interface),
  )
  if (virtualRouters.some((router) => router.interface === 'auto')) return undefined
  const named = virtualRouters.flatMap((router) => [nameOfInterface(router) ?? [], otherInterfaces(router)].flat())
  return new Set([...named, ...tracked])
}

const followedIn = ({ virtualRouters }: Config): readonly Address[] =>
  virtualRouters.flatMap((router) => {
    const holding = holdingOf(router)
    return holding !== undefined && 'address' in holding ? holding.address : []
  })

/**
 * `auto` that no longer knows, because a second interface has come into the network, stays where it is; so does who
 * follows an address that a second interface has as well, or none any more.
 */
function nameFor({ held, interfaceName }: ResolvedRouter, here: string | undefined): string | undefined {
  if (here !== undefined && held?.on.includes(here)) return here
  return interfaceName ?? here
}
