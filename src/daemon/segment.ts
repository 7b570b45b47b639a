/**
 * One LAN as this node sees it through one interface and family: the advertisement socket that all its virtual routers
 * share, told apart by VRID, the frame socket, and what is still to be announced. Opens and closes with the interface.
 * What becomes of a packet is reception.ts; what a lost interface means is the daemon's.
 */
import { ONE_ROUND } from '../arp/announcement.ts'
import { type Address, type Family, familyOf, isLinkLocal } from '../wire/address.ts'
import type { Mac } from '../wire/mac.ts'
import { type Millis, millis } from '../wire/units.ts'
import { Announcer } from './announcer.ts'
import { ClaimTap, type HeardClaim } from './claim-tap.ts'
import { Inquiry } from './inquiry.ts'
import { isUp } from './link-state.ts'
import type { NetworkView } from './network-view.ts'
import { Outpost, probesFor } from './outpost.ts'
import { PeerWatch } from './peer-watch.ts'
import type {
  AddressOutcome,
  AddressStep,
  AdvertisementSocket,
  Datagram,
  Failure,
  FrameSocket,
  Link,
  PresentAddress,
  SendOutcome,
  SocketPort,
} from './ports.ts'
import { RadarSchedule } from './radar-schedule.ts'
import { Reception } from './reception.ts'
import { Counters, type Recorder } from './recorder.ts'
import type { Router } from './router.ts'
import type { RouterIo } from './router-io.ts'

/** Per expiry; then the decision is taken, so that a flood cannot prevent a takeover (ground rule 2). */
const DRAIN_BATCHES = 4
/** In between nothing waits for it, and what is due meanwhile, our own advertisement above all, waits for no more. */
export const READ_BATCHES = 1
/** Whose announcement the node's own address is; no router can have that name. */
const SOURCE = ''

export type SegmentContext = {
  readonly sockets: SocketPort
  readonly view: NetworkView
  readonly recorder: Recorder
  readonly apply: (steps: readonly AddressStep[]) => readonly AddressOutcome[]
  readonly onReadable: (segment: Segment) => void
  readonly onFailure: (segment: Segment, failure: Failure) => void
  /** Deadlines of a router may have moved outside a turn of the daemon. */
  readonly onClaim: (segment: Segment, claim: HeardClaim, heardAt: Millis) => void
  readonly onPeerReached: (segment: Segment, peer: Address) => void
}

export class Segment implements RouterIo {
  readonly family: Family
  readonly source: Address
  readonly routers = new Map<number, Router>()
  readonly discarded = new Counters()
  /** Packets that the kernel dropped because the queue was full. */
  overflowed = 0
  /** Packets were dropped, or may have been: silence proves nothing (ground rule 2). */
  receptionLost = false
  #wasEmpty = true
  #link: Link
  #group: Address | undefined
  #advertisements: AdvertisementSocket | undefined
  #frames: FrameSocket | undefined
  readonly #reception: Reception
  readonly #claims: ClaimTap
  readonly #peers: PeerWatch
  readonly #inquiry = new Inquiry(() => ({ mac: this.mac, source: this.source }))
  readonly announcer: Announcer
  readonly #outposts = new Map<string, Outpost>()
  readonly radar = new RadarSchedule(() => this.routers.values())
  readonly #context: SegmentContext

  constructor(link: Link, family: Family, source: Address, context: SegmentContext) {
    this.family = family
    this.source = source
    this.#link = link
    this.#context = context
    const { sockets, recorder, view } = context
    this.announcer = new Announcer(
      (frames) => this.#frames?.send(frames) ?? [],
      () => this.mac,
      (address) => view.canSendFrom(this.interfaceIndex, address) || !view.isOn(this.interfaceIndex, address),
      () => this.#spacing(family),
    )
    this.#reception = new Reception(this, recorder)
    this.#claims = new ClaimTap(family, () => this.#link, {
      sockets,
      recorder,
      onFailure: (failure) => context.onFailure(this, failure),
      isOurs: (mac) => view.links().some((own) => own.mac === mac),
      onClaim: (claim, heardAt) => this.#hearClaim(claim, heardAt),
    })
    this.#peers = new PeerWatch(family, () => this.#link, {
      sockets,
      recorder,
      onFailure: (failure) => context.onFailure(this, failure),
      isPeer: (address) => [...this.routers.values()].some((router) => router.asksBeside(address)),
      onReached: (peer) => context.onPeerReached(this, peer),
    })
  }

  /** It may be renamed under a router that was told `auto`. */
  get interfaceName(): string {
    return this.#link.name
  }

  get interfaceIndex(): number {
    return this.#link.index
  }

  get canSend(): boolean {
    return this.isOpen && isUp(this.#context.view.link(this.interfaceIndex))
  }

  get mac(): Mac {
    return this.#link.mac
  }

  /**
   * The interface as it is now. Under another MAC (bonding, a bridge that takes its first port's) the LAN would go on
   * sending to the old one.
   */
  follow(link: Link, now: Millis): void {
    const moved = link.mac !== this.#link.mac
    this.#link = link
    if (!moved) return
    for (const router of this.routers.values()) if (router.state.name === 'Active') this.announce(router, 'rival', now)
  }

  /**
   * Otherwise its sockets are better closed: opened again they join their groups anew, which the kernel (IPv6 turned off,
   * or an MTU below 1280) and snooping switches may have forgotten.
   */
  isUsable(): boolean {
    const { view } = this.#context
    return isUp(view.link(this.interfaceIndex)) && view.canSendFrom(this.interfaceIndex, this.source)
  }

  /** Opens what is not open, and joins the group once a multicast router is here. Idempotent. */
  open(): Failure | undefined {
    const { index: interfaceIndex, name: interfaceName } = this.#link
    const transports = [...this.routers.values()].map((router) => router.parameters.transport)
    const group = transports.flatMap((transport) => (transport.mode === 'multicast' ? [transport.group] : []))[0]
    if (this.#advertisements !== undefined) {
      if (group === undefined || group === this.#group) return undefined
      const failure = this.#advertisements.join(group)
      if (failure === undefined) this.#group = group
      return failure
    }
    const { sockets, onFailure, onReadable } = this.#context
    const fail = (failure: Failure) => onFailure(this, failure)
    const advertisements = sockets.openAdvertisementSocket({
      interfaceIndex,
      interfaceName,
      family: this.family,
      source: this.source,
      group,
      onReadable: () => onReadable(this),
      onFailure: fail,
    })
    if ('code' in advertisements) return advertisements
    const { family } = this
    const frames = sockets.openFrameSocket({ interfaceIndex, interfaceName, family, hears: 'nothing', onFailure: fail })
    if ('code' in frames) {
      advertisements.close()
      return frames
    }
    this.#advertisements = advertisements
    this.#frames = frames
    this.#group = group
    return undefined
  }

  close(): void {
    this.#advertisements?.close()
    this.#frames?.close()
    this.#claims.close()
    this.#peers.close()
    for (const outpost of this.#outposts.values()) outpost.close()
    this.#outposts.clear()
    this.#advertisements = undefined
    this.#frames = undefined
  }

  get isOpen(): boolean {
    return this.#advertisements !== undefined
  }

  /** Steps for what waits, up to so many batches. */
  drain(now: Millis, batches = DRAIN_BATCHES): void {
    const result = this.#advertisements?.drain(batches, (packet) => this.#reception.deliver(packet, now))
    if (result === undefined) return
    this.overflowed += result.lost
    // The kernel tells of a drop only with a packet queued after it. So a drain that hit its limit hides losses, and
    // only a packet out of a queue that was empty before proves that there were none.
    if (result.lost > 0 || !result.empty) this.receptionLost = true
    else if (this.#wasEmpty && result.packets > 0) this.receptionLost = false
    this.#wasEmpty = result.empty
  }

  /**
   * Listens for the gratuitous ARP of others exactly while somebody here is Leaving or Returning, and for answers to our
   * own question while somebody asks; and for the peers to whom an Active sends, for what the question misses.
   */
  watchClaims(): void {
    const routers = [...this.routers.values()]
    const between = routers.some(({ state }) => state.name === 'Leaving' || state.name === 'Returning')
    const asking = routers.some(({ asks, duplicates }) => asks || duplicates.isOn)
    if (!this.isOpen) return
    const hears = between ? 'claims' : asking ? 'answers' : 'nothing'
    this.#claims.listen(hears)
    this.#keepOutposts()
    for (const outpost of this.#outposts.values()) outpost.listen(hears)
    if (!routers.some(({ asks }) => asks)) this.#inquiry.end()
    this.#peers.watch(routers.some(({ asks, parameters }) => asks && parameters.transport.mode === 'unicast'))
  }

  questionsOf({ parameters }: Router, now: Millis): readonly Uint8Array[] {
    return this.#inquiry.before(parameters, now)
  }

  followUpsOf({ parameters }: Router, now: Millis): readonly Uint8Array[] {
    return this.#inquiry.after(parameters, now)
  }

  /** Before they are taken back: everybody is asked for every address, because whoever has it need not speak VRRP. */
  probesOf(router: Router): readonly Uint8Array[] {
    // Who was Active without asking (rfc9568) has not listened so far, and an answer comes within microseconds.
    this.watchClaims()
    return this.#probes(this.#atHome(router, router.parameters.addresses, (outpost, those) => outpost.ask(those)))
  }

  /** What the radars want to know now; after everything else of a turn. */
  askForRadar(): void {
    const addresses = this.radar.take()
    if (addresses.length === 0) return
    const own = new Set(addresses)
    // A peer that is asked for its own address is on this LAN.
    for (const router of this.routers.values()) {
      const asked = router.parameters.addresses.filter((address) => own.has(address))
      const here = this.#atHome(router, asked, (outpost, those) => outpost.ask(those))
      for (const address of asked) if (!here.includes(address)) own.delete(address)
    }
    if (own.size > 0) this.ask(this.#probes([...own]))
  }

  radarDelay(): number {
    return this.radar.firstDelay()
  }

  #probes(addresses: readonly Address[]): readonly Uint8Array[] {
    const { family, mac } = this
    return probesFor(addresses, { family, mac, source: family === 'ipv4' ? undefined : this.#linkLocal() })
  }

  /** Those that are here; the others are given to where they are. */
  #atHome(
    router: Router,
    addresses: readonly Address[],
    elsewhere: (outpost: Outpost, addresses: readonly Address[]) => void,
  ): readonly Address[] {
    const away = new Map<Outpost, Address[]>()
    const here = addresses.filter((address) => {
      const place = router.places.at(address, this)
      if (place === undefined) return false
      const family = familyOf(address)
      if (family === this.family && place.interfaceIndex === this.interfaceIndex) return true
      const outpost = this.#outpost(place.interfaceIndex, family)
      if (outpost !== undefined) away.set(outpost, [...(away.get(outpost) ?? []), address])
      return false
    })
    for (const [outpost, those] of away) elsewhere(outpost, those)
    return here
  }

  #outpost(interfaceIndex: number, family: Family): Outpost | undefined {
    const { recorder, sockets, view } = this.#context
    const key = `${interfaceIndex} ${family}`
    const known = this.#outposts.get(key)
    const link = view.link(interfaceIndex)
    if (known !== undefined || link === undefined || !this.isOpen) return known
    const outpost = new Outpost(link, family, {
      sockets,
      view,
      recorder,
      spacing: (family) => this.#spacing(family),
      isVirtual: (address) => [...this.routers.values()].some((each) => each.parameters.addresses.includes(address)),
      onFailure: (failure) => this.#context.onFailure(this, failure),
      onClaim: (claim, heardAt) => this.#context.onClaim(this, claim, heardAt),
    })
    this.#outposts.set(key, outpost)
    return outpost
  }

  /** One for each place where a router of ours has an address, and no other. */
  #keepOutposts(): void {
    const needed = new Set<Outpost>()
    for (const router of this.routers.values())
      this.#atHome(router, router.parameters.addresses, (outpost) => needed.add(outpost))
    for (const [key, outpost] of this.#outposts) {
      if (needed.has(outpost)) continue
      outpost.close()
      this.#outposts.delete(key)
    }
  }

  get outposts(): readonly Outpost[] {
    return [...this.#outposts.values()]
  }

  /** Of this node, not a VIP: whoever is asked learns where it is, and that must be true for longer than a takeover. */
  #linkLocal(): Address {
    if (isLinkLocal(this.source)) return this.source
    const virtual = new Set([...this.routers.values()].flatMap(({ parameters }) => parameters.addresses))
    const own = this.#context.view
      .on(this.interfaceIndex, this.family)
      .find(({ address, tentative }) => isLinkLocal(address) && !tentative && !virtual.has(address))
    return own?.address ?? this.source
  }

  /** The radar wants to know as well who is at which MAC. */
  #hearClaim(claim: HeardClaim, heardAt: Millis): void {
    if (this.#inquiry.hear(claim, heardAt) === 'back') this.#context.onPeerReached(this, claim.address)
    this.#context.onClaim(this, claim, heardAt)
  }

  /** What is not sent is not asked: the next advertisement asks again. */
  ask(questions: readonly Uint8Array[]): void {
    this.#frames?.send(questions)
  }

  send(datagrams: readonly Datagram[]): readonly SendOutcome[] {
    return this.#advertisements?.send(datagrams) ?? datagrams.map(() => ({ ok: false, failure: CLOSED }))
  }

  where(address: Address): readonly PresentAddress[] {
    return this.#context.view.where(address)
  }

  nameOf(interfaceIndex: number): string {
    return this.#context.view.link(interfaceIndex)?.name ?? `interface ${interfaceIndex}`
  }

  apply(steps: readonly AddressStep[]): readonly AddressOutcome[] {
    return this.#context.apply(steps)
  }

  indexOf(interfaceName: string): number | undefined {
    return this.#context.view.linkNamed(interfaceName)?.index
  }

  announce(router: Router, reason: 'takeover' | 'rival', now: Millis): void {
    this.#announce(router, router.parameters.addresses, reason, now)
  }

  announceOver(router: Router, addresses: readonly Address[], now: Millis): void {
    this.#announce(router, addresses, 'duplicate', now)
  }

  #announce(
    router: Router,
    addresses: readonly Address[],
    reason: 'takeover' | 'rival' | 'duplicate',
    now: Millis,
  ): void {
    const { name, announce, announceOther } = router.spec
    const here = this.#atHome(router, addresses, ({ announcer, family }, those) => {
      const schedule = family === this.family ? announce : announceOther
      announcer.announce({ name, family, addresses: those, ...schedule }, reason, now)
    })
    this.announcer.announce({ name, family: this.family, addresses: here, ...announce }, reason, now)
  }

  get #announcers(): readonly Announcer[] {
    return [this.announcer, ...this.outposts.map(({ announcer }) => announcer)]
  }

  runAnnouncements(now: Millis): void {
    if (this.#outposts.size === 0) return this.announcer.run(now)
    for (const announcer of this.#announcers) announcer.run(now)
  }

  nextAnnouncementAt(): Millis | undefined {
    if (this.#outposts.size === 0) return this.announcer.nextAt()
    const due = this.#announcers.flatMap((announcer) => announcer.nextAt() ?? [])
    return due.length === 0 ? undefined : millis(Math.min(...due))
  }

  /** Once, however many of its routers ask in one turn. */
  announceSource(now: Millis): void {
    const { family, source } = this
    const announced = { name: SOURCE, family, addresses: [source], at: ONE_ROUND, refresh: undefined }
    this.announcer.announce(announced, 'takeover', now)
  }

  reschedule({ spec, parameters: { addresses } }: Router, now: Millis): void {
    for (const announcer of this.#announcers)
      announcer.reschedule({ name: spec.name, addresses, ...spec.announce }, now)
  }

  /** One interface, one pace: that of the slowest. */
  #spacing(family: Family): number | undefined {
    const wanted = [...this.routers.values()].flatMap(({ spec }) => spec.announce.spacing?.[family] ?? [])
    return wanted.length === 0 ? undefined : Math.max(...wanted)
  }

  cancelAnnouncements(router: Router): void {
    for (const announcer of this.#announcers) announcer.cancel(router.name)
  }
}

const CLOSED: Failure = {
  code: 'ENOTCONN',
  syscall: 'sendmmsg',
  message: 'Cannot send: the interface is not open',
  retryable: true,
}
