/**
 * Where each virtual router runs: which interface, which source address, which sockets, and what that means for its
 * faults and its priority. Asked again whenever links or addresses changed; idempotent. Decided here: what is opened
 * and closed, and in which order faults are raised and cleared. Refuses to know packets and deadlines.
 */
import type { Config } from '../config/config.ts'
import { type ResolvedRouter, resolveRouters } from '../config/resolve.ts'
import { isOwner } from '../vrrp/parameters.ts'
import type { Address } from '../wire/address.ts'
import { type Millis, plus } from '../wire/units.ts'
import { hostPrefix } from './address-keeper.ts'
import { circumstancesOf } from './circumstances.ts'
import type { Journal } from './journal.ts'
import type { Link } from './ports.ts'
import type { Router } from './router.ts'
import { Segment, type SegmentContext } from './segment.ts'

const OPEN_RETRY = 1_000

export class Placement {
  readonly #config: Config
  readonly #context: SegmentContext
  readonly #journal: Journal
  readonly #segments = new Map<string, Segment>()
  /** Interfaces whose changes can mean something; undefined = `auto` looks at all of them. */
  readonly #interfaces: ReadonlySet<string> | undefined
  #openAgainAt: Millis | undefined

  constructor(config: Config, context: SegmentContext, journal: Journal) {
    this.#config = config
    this.#context = context
    this.#journal = journal
    const names = config.virtualRouters.flatMap((router) => [router.interface, ...router.track.map((t) => t.interface)])
    this.#interfaces = names.includes('auto') ? undefined : new Set(names)
  }

  get segments(): readonly Segment[] {
    return [...this.#segments.values()]
  }

  /** A socket could not be opened; the next try. */
  get openAgainAt(): Millis | undefined {
    return this.#openAgainAt
  }

  /** A Kubernetes node has hundreds of interfaces that come and go; each new look at ours costs time. */
  matters(interfaceName: string | undefined): boolean {
    return this.#interfaces === undefined || interfaceName === undefined || this.#interfaces.has(interfaceName)
  }

  resolve(): readonly ResolvedRouter[] {
    const { view } = this.#context
    const interfaces = view.links().map(({ index, name, mtu }) => {
      const addresses = [...view.on(index, 'ipv4'), ...view.on(index, 'ipv6')]
      return { name, mtu, addresses }
    })
    return resolveRouters(this.#config, { interfaces }).routers
  }

  /** Links, addresses and trackers to faults, priorities and sockets. Idempotent; run whenever one of them changed. */
  refresh(routers: ReadonlyMap<string, Router>, now: Millis): void {
    const resolution = this.resolve()
    this.#keepJournal(resolution)
    const found = resolution.flatMap((resolved) => {
      const router = routers.get(resolved.name)
      if (router === undefined) return []
      // `auto` that no longer knows, because a second interface has come into the network, stays where it is.
      const name = resolved.interfaceName ?? router.io?.interfaceName
      const link = name === undefined ? undefined : this.#context.view.linkNamed(name)
      const source = this.#sourceFor(router, resolved, link)
      if (link !== undefined && source !== undefined) this.#attach(router, resolved, link, source)
      const { faults, priority } = circumstancesOf(resolved, link, source, this.#context.view)
      return [{ router, faults, priority, missing: link === undefined }]
    })
    for (const { router, faults, priority, missing } of found) {
      router.setPriority(priority, now)
      for (const { fault, present, canSend } of faults) if (present) router.setFault(fault, true, canSend, now)
      if (missing) this.#detach(router)
    }
    // Whoever starts because its last fault is cleared must find its socket open, and no other fault behind it.
    this.open(now)
    for (const { router, faults } of found) {
      for (const { fault, present } of faults) if (!present) router.setFault(fault, false, false, now)
    }
  }

  /** The source chosen at start stays until it disappears (VR-TX-03): a new address must not change a tie-break. */
  #sourceFor(router: Router, resolved: ResolvedRouter, link: Link | undefined): Address | undefined {
    const { primaryAddress, family } = router.parameters
    if (link === undefined || resolved.fault === 'sourceAddressMissing') return undefined
    if (router.io === undefined) return resolved.source
    const still = this.#context.view.on(link.index, family).some((present) => present.address === primaryAddress)
    return still ? primaryAddress : resolved.source
  }

  #attach(router: Router, resolved: ResolvedRouter, link: Link, source: Address): void {
    const { family, vrid } = resolved.parameters
    const key = `${link.index} ${family} ${source}`
    const segment = this.#segments.get(key) ?? new Segment(link, family, source, this.#context)
    segment.link = link
    this.#segments.set(key, segment)
    if (router.io === segment) return
    const moved = router.io !== undefined
    this.#detach(router)
    const { priority } = router.parameters
    segment.routers.set(vrid, router)
    router.moveTo(segment, { ...resolved.parameters, primaryAddress: source, priority })
    if (moved) router.takeAddressesAlong()
  }

  #detach(router: Router): void {
    for (const segment of this.#segments.values()) {
      if (segment.routers.get(router.parameters.vrid) !== router) continue
      segment.routers.delete(router.parameters.vrid)
      segment.cancelAnnouncements(router)
    }
    router.io = undefined
  }

  /** After all routers are attached, so that one open serves them all; and closes what nobody uses any more. */
  open(now: Millis): void {
    this.#openAgainAt = undefined
    for (const [key, segment] of this.#segments) {
      if (segment.routers.size === 0) {
        segment.close()
        this.#segments.delete(key)
        continue
      }
      const failure = segment.open()
      if (failure !== undefined) {
        const { code, message } = failure
        const { interfaceName } = segment
        const { recorder } = this.#context
        recorder.logLimited(`open ${interfaceName} ${code}`, 'error', message, { interface: interfaceName, code })
        this.#openAgainAt = plus(now, OPEN_RETRY)
      }
      for (const router of segment.routers.values()) router.setFault('socketFailed', failure !== undefined, false, now)
    }
  }

  /** Before the first VIP can be installed on an interface, which for `auto` may be found late. */
  #keepJournal(resolved: readonly ResolvedRouter[]): void {
    const problem = this.#journal.add(
      resolved.flatMap(({ interfaceName, parameters }) =>
        interfaceName === undefined || isOwner(parameters)
          ? []
          : parameters.addresses.map((address) => ({ address, prefixLength: hostPrefix(address), interfaceName })),
      ),
    )
    if (problem !== undefined) this.#context.recorder.log('warn', problem)
  }
}
