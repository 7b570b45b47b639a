/**
 * One LAN as this node sees it through one interface and family: the advertisement socket that all its virtual routers
 * share, told apart by VRID, the frame socket, and what is still to be announced. Opens and closes with the interface.
 * What becomes of a packet is reception.ts; what a lost interface means is the daemon's.
 */
import { ONE_ROUND } from '../../arp/announcement.ts'
import type { Parameters } from '../../vrrp/parameters.ts'
import { type Address, type Family, isLinkLocal } from '../../wire/address.ts'
import type { Mac } from '../../wire/mac.ts'
import { type Millis, plus, sooner } from '../../wire/units.ts'
import type { NetworkView } from '../addresses/network-view.ts'
import type { Writer } from '../effect-runner.ts'
import type {
  AddressOutcome,
  AddressStep,
  AdvertisementSocket,
  Datagram,
  Failure,
  FrameSocket,
  Link,
  PresentAddress,
  ReceivedPacket,
  SendOutcome,
  SocketPort,
} from '../ports.ts'
import type { Router } from '../router.ts'
import type { RouterIo, Tenant } from '../router-io.ts'
import { Counters, type Recorder } from '../telemetry/recorder.ts'
import { RATES, TokenBucket } from '../telemetry/token-bucket.ts'
import { Announcer } from './announcer.ts'
import { ArpListener, type HeardClaim } from './arp-listener.ts'
import { Backlog } from './backlog.ts'
import { Inquiry } from './inquiry.ts'
import { isUp } from './link-state.ts'
import { type Outpost, probesFor } from './outpost.ts'
import { Outposts } from './outposts.ts'
import { PeerWatch } from './peer-watch.ts'
import { RadarSchedule } from './radar-schedule.ts'
import { Reception } from './reception.ts'

/** Per expiry; then the decision is taken, so that a flood cannot prevent a takeover (ground rule 2). 4 096 packets. */
const DRAIN_BATCHES = 32
/**
 * ms, for all segments of an expiry together. So many packets took 200 ms in the first second of an engine, whose code is not
 * compiled yet: its own advertisement must not wait for that (ADR 0061).
 */
const DRAIN_TIME = 25
/**
 * In between nothing waits for it, and what is due meanwhile, our own advertisement above all, waits for no more. As many
 * packets as there are virtual routers: those of all of them are answered in one turn.
 */
export const READ_BATCHES = 2
/** Whose announcement the node's own address is; no router can have that name. */
const SOURCE = ''

export type SegmentContext = {
  readonly sockets: SocketPort
  readonly view: NetworkView
  readonly recorder: Recorder
  /** From 0 to 1. */
  readonly random: () => number
  readonly writer: Writer
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
  /** Of them, not in the journal yet. */
  #lost = 0
  readonly #lossBucket = new TokenBucket(RATES.packetsLost)
  readonly #backlog = new Backlog()
  #link: Link
  #group: Address | undefined
  #advertisements: AdvertisementSocket | undefined
  #frames: FrameSocket | undefined
  readonly #reception: Reception
  readonly #claims: ArpListener
  readonly #peers: PeerWatch
  readonly #inquiry = new Inquiry(() => ({ mac: this.mac, source: this.source }))
  readonly announcer: Announcer
  readonly #outposts: Outposts
  readonly radar: RadarSchedule
  readonly #context: SegmentContext

  constructor(link: Link, family: Family, source: Address, context: SegmentContext) {
    this.family = family
    this.source = source
    this.#link = link
    this.#context = context
    const { sockets, recorder, view } = context
    this.radar = new RadarSchedule(() => this.routers.values(), context.random)
    this.announcer = new Announcer(
      (frames) => this.#frames?.send(frames) ?? [],
      () => this.mac,
      (address) => view.canSendFrom(this.interfaceIndex, address) || !view.isOn(this.interfaceIndex, address),
      () => this.#spacing(family),
    )
    this.#reception = new Reception(this, recorder)
    this.#claims = new ArpListener(family, () => this.#link, {
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
    this.#outposts = new Outposts(this, {
      sockets,
      view,
      recorder,
      spacing: (family) => this.#spacing(family),
      onFailure: (failure) => context.onFailure(this, failure),
      onClaim: (claim, heardAt) => context.onClaim(this, claim, heardAt),
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
    this.#outposts.close()
    this.#advertisements = undefined
    this.#frames = undefined
  }

  get isOpen(): boolean {
    return this.#advertisements !== undefined
  }

  get receptionLost(): boolean {
    return this.#backlog.mayHide
  }

  /** Steps for what waits, up to so many batches, and no new batch once DRAIN_TIME has passed since `now`. */
  drain(now: Millis, batches = DRAIN_BATCHES): void {
    const deliver = (packet: ReceivedPacket) => this.#reception.deliver(packet, now)
    const result = this.#advertisements?.drain(batches, deliver, plus(now, DRAIN_TIME))
    if (result === undefined) return
    this.overflowed += result.lost
    if (result.lost > 0) this.#noteLost(result.lost, now)
    this.#backlog.note(result)
  }

  #noteLost(count: number, now: Millis): void {
    this.#lost += count
    if (this.#lossBucket.take(now) === undefined) return
    const lost = { interface: this.interfaceName, count: this.#lost }
    this.#lost = 0
    this.#context.recorder.chronicle.record({ kind: 'packetsLost', ...lost })
  }

  /**
   * Listens for the gratuitous ARP of others exactly while somebody here waits for it, and for answers to our own
   * question while somebody asks; and for the peers to whom an Active sends, for what the question misses.
   */
  watchClaims(): void {
    const routers = [...this.routers.values()]
    const between = routers.some(({ awaitsClaims }) => awaitsClaims)
    const asking = routers.some(({ asks, duplicates }) => asks || duplicates.isOn)
    if (!this.isOpen) return
    const hears = between ? 'claims' : asking ? 'answers' : 'nothing'
    this.#claims.listen(hears)
    this.#outposts.listen(hears)
    if (!routers.some(({ asks }) => asks)) this.#inquiry.end()
    this.#peers.watch(routers.some(({ asks, parameters }) => asks && parameters.transport.mode === 'unicast'))
  }

  questionsOf(parameters: Parameters, now: Millis): readonly Uint8Array[] {
    return this.#inquiry.before(parameters, now)
  }

  followUpsOf(parameters: Parameters, now: Millis): readonly Uint8Array[] {
    return this.#inquiry.after(parameters, now)
  }

  /** Before they are taken back: everybody is asked for every address, because whoever has it need not speak VRRP. */
  probesOf(router: Tenant): readonly Uint8Array[] {
    // Who was Active without asking (rfc9568) has not listened so far, and an answer comes within microseconds.
    this.watchClaims()
    return this.#probes(
      this.#outposts.atHome(router, router.parameters.addresses, (outpost, those) => outpost.ask(those)),
    )
  }

  /** What the radars want to know now; after everything else of a turn. */
  askForRadar(): void {
    const addresses = this.radar.take()
    if (addresses.length === 0) return
    const own = new Set(addresses)
    // A peer that is asked for its own address is on this LAN.
    for (const router of this.routers.values()) {
      const asked = router.parameters.addresses.filter((address) => own.has(address))
      const here = this.#outposts.atHome(router, asked, (outpost, those) => outpost.ask(those))
      for (const address of asked) if (!here.includes(address)) own.delete(address)
    }
    if (own.size > 0) this.ask(this.#probes([...own]))
  }

  detectionDelay(): number {
    return this.radar.firstDelay()
  }

  #probes(addresses: readonly Address[]): readonly Uint8Array[] {
    const { family, mac } = this
    return probesFor(addresses, { family, mac, source: family === 'ipv4' ? undefined : this.#linkLocal() })
  }

  get outposts(): readonly Outpost[] {
    return this.#outposts.all
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
    return this.#context.writer.apply(steps)
  }

  indexOf(interfaceName: string): number | undefined {
    return this.#context.view.linkNamed(interfaceName)?.index
  }

  announce(router: Tenant, reason: 'takeover' | 'rival', now: Millis): void {
    this.#announce(router, router.parameters.addresses, reason, now)
  }

  announceOver(router: Tenant, addresses: readonly Address[], now: Millis): void {
    this.#announce(router, addresses, 'duplicate', now)
  }

  #announce(
    router: Tenant,
    addresses: readonly Address[],
    reason: 'takeover' | 'rival' | 'duplicate',
    now: Millis,
  ): void {
    const { name, announce, announceOther } = router.spec
    const onFirst = (address: Address) => router.takeover.announced(address)
    const here = this.#outposts.atHome(router, addresses, ({ announcer, family }, those) => {
      const schedule = family === this.family ? announce : announceOther
      announcer.announce({ name, family, addresses: those, ...schedule, onFirst }, reason, now)
    })
    this.announcer.announce({ name, family: this.family, addresses: here, ...announce, onFirst }, reason, now)
  }

  /**
   * Who is about to answer a worse rival may have a better one's advertisement waiting by now (three parted nodes that
   * hear each other again): its own announcement would be the later one, and lead clients to addresses that are about to go.
   */
  hearBeforeAnswering(now: Millis): void {
    if (this.announcer.answersRival(now)) this.drain(now, READ_BATCHES)
  }

  runAnnouncements(now: Millis): void {
    this.announcer.run(now)
    for (const announcer of this.#outposts.announcers) announcer.run(now)
  }

  nextAnnouncementAt(): Millis | undefined {
    let nearest = this.announcer.nextAt()
    for (const announcer of this.#outposts.announcers) nearest = sooner(nearest, announcer.nextAt())
    return nearest
  }

  /** Once, however many of its routers ask in one turn. */
  announceSource(now: Millis): void {
    const { family, source } = this
    const announced = { name: SOURCE, family, addresses: [source], at: ONE_ROUND, refresh: undefined }
    this.announcer.announce(announced, 'takeover', now)
  }

  reschedule({ spec, parameters: { addresses } }: Tenant, now: Millis): void {
    const rescheduled = { name: spec.name, addresses, ...spec.announce }
    this.announcer.reschedule(rescheduled, now)
    for (const announcer of this.#outposts.announcers) announcer.reschedule(rescheduled, now)
  }

  /** One interface, one pace: that of the slowest. */
  #spacing(family: Family): number | undefined {
    const wanted = [...this.routers.values()].flatMap(({ spec }) => spec.announce.spacing?.[family] ?? [])
    return wanted.length === 0 ? undefined : Math.max(...wanted)
  }

  cancelAnnouncements(router: Tenant): void {
    this.announcer.cancel(router.name)
    for (const announcer of this.#outposts.announcers) announcer.cancel(router.name)
  }
}

const CLOSED: Failure = {
  code: 'ENOTCONN',
  syscall: 'sendmmsg',
  message: 'Cannot send: the interface is not open',
  retryable: true,
}
