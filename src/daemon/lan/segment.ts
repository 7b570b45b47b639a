/**
 * A segment: one LAN as this node sees it through one interface, family and source address. All virtual routers of a
 * segment share its sockets, and the VRID tells the routers apart. This file decides when a socket is opened or closed,
 * and which frames it receives. Packets are handled in reception.ts, questions in questions.ts, announcements in
 * announcements.ts. The daemon decides what the loss of an interface means.
 */
import type { Address, Family } from '../../wire/address.ts'
import type { Mac } from '../../wire/mac.ts'
import type { Millis } from '../../wire/units.ts'
import { isUp, type NetworkView } from '../addresses/network-view.ts'
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
  RepetitionPort,
  SendOutcome,
  SocketPort,
} from '../ports.ts'
import type { Router } from '../router/router.ts'
import type { RouterIo } from '../router/router-io.ts'
import type { Recorder } from '../telemetry/recorder.ts'
import type { Turns } from '../turns.ts'
import { Announcements, spacingOf } from './announcements.ts'
import { Announcer } from './announcer.ts'
import { ArpListener, type HeardAnnouncement } from './arp-listener.ts'
import { DetectionSchedule } from './duplicates/detection-schedule.ts'
import { PeerWatch } from './peer-watch.ts'
import { Questions } from './questions.ts'
import { Reception } from './reception.ts'
import type { SecondaryInterface } from './secondary-interface.ts'
import { SecondaryInterfaces } from './secondary-interfaces.ts'

export type SegmentContext = {
  readonly sockets: SocketPort
  readonly view: NetworkView
  readonly recorder: Recorder
  /** Returns a random number from 0 to 1. */
  readonly random: () => number
  readonly writer: Writer
  readonly turns: Turns
  readonly onFailure: (segment: Segment, failure: Failure) => void
  /** Called when another host announces an address, or answers for one. */
  readonly onAnnouncement: (segment: Segment, announcement: HeardAnnouncement, heardAt: Millis) => void
  /** Called when the kernel reaches a unicast peer again, or the peer answers after a silence. */
  readonly onPeerReached: (segment: Segment, peer: Address) => void
}

export class Segment implements RouterIo {
  readonly family: Family
  readonly source: Address
  /** Virtual routers of the segment by VRID. */
  readonly routers = new Map<number, Router>()
  readonly reception: Reception
  readonly announcer: Announcer
  readonly announcements: Announcements
  readonly questions: Questions
  readonly detection: DetectionSchedule
  readonly #secondary: SecondaryInterfaces
  readonly #listener: ArpListener
  readonly #peers: PeerWatch
  readonly #context: SegmentContext
  #link: Link
  #group: Address | undefined
  #advertisements: AdvertisementSocket | undefined
  #frames: FrameSocket | undefined

  constructor(link: Link, family: Family, source: Address, context: SegmentContext) {
    this.family = family
    this.source = source
    this.#link = link
    this.#context = context
    const { recorder, sockets, turns, view } = context
    const onFailure = (failure: Failure) => context.onFailure(this, failure)
    const spacing = (of: Family) => spacingOf(this.routers.values(), of)
    this.reception = new Reception(this, turns, recorder)
    this.detection = new DetectionSchedule(() => this.routers.values(), context.random)
    this.announcer = new Announcer(
      (frames) => this.#frames?.send(frames) ?? [],
      () => this.mac,
      (address) => view.canSendFrom(this.interfaceIndex, address) || !view.isOn(this.interfaceIndex, address),
      () => spacing(family),
    )
    const onAnnouncement = (announcement: HeardAnnouncement, heardAt: Millis) =>
      context.onAnnouncement(this, announcement, heardAt)
    this.#secondary = new SecondaryInterfaces(this, { sockets, view, recorder, spacing, onFailure, onAnnouncement })
    this.announcements = new Announcements(this, this.announcer, this.#secondary)
    this.questions = new Questions(this, view, this.#secondary, (peer) => this.#listener.answeredAt(peer))
    const linkNow = () => this.#link
    this.#listener = new ArpListener(family, linkNow, {
      ...{ sockets, recorder, onFailure },
      isOurs: (mac) => view.links().some((own) => own.mac === mac),
      onAnnouncement: (announcement, heardAt, frame) => this.#hearAnnouncement(announcement, heardAt, frame),
    })
    this.#peers = new PeerWatch(family, linkNow, {
      ...{ sockets, recorder, onFailure },
      isPeer: (address) => [...this.routers.values()].some((router) => router.asksBeside(address)),
      onReached: (peer) => context.onPeerReached(this, peer),
    })
  }

  // The interface ------------------------------------------------------------------------------------------------------

  /** Name of the interface. The name may change under a router with `interface: auto`. */
  get interfaceName(): string {
    return this.#link.name
  }

  get interfaceIndex(): number {
    return this.#link.index
  }

  get mac(): Mac {
    return this.#link.mac
  }

  get canSend(): boolean {
    return this.isOpen && isUp(this.#context.view.link(this.interfaceIndex))
  }

  get receptionLost(): boolean {
    return this.reception.isIncomplete
  }

  get repetitions(): RepetitionPort | undefined {
    return this.#advertisements?.repetitions
  }

  get secondary(): readonly SecondaryInterface[] {
    return this.#secondary.all
  }

  /**
   * Adopts the present state of the interface. If its MAC has changed (bonding, or a bridge with the MAC of its first
   * port), the addresses are announced again. Without this announcement the hosts of the LAN would keep sending to the
   * old MAC.
   */
  follow(link: Link, now: Millis): void {
    const moved = link.mac !== this.#link.mac
    this.#link = link
    if (!moved) return
    for (const router of this.routers.values()) if (router.state.name === 'Active') router.announceAgain(now)
  }

  where(address: Address): readonly PresentAddress[] {
    return this.#context.view.where(address)
  }

  nameOf(interfaceIndex: number): string {
    return this.#context.view.link(interfaceIndex)?.name ?? `interface ${interfaceIndex}`
  }

  indexOf(interfaceName: string): number | undefined {
    return this.#context.view.linkNamed(interfaceName)?.index
  }

  // Sockets ------------------------------------------------------------------------------------------------------------

  get isOpen(): boolean {
    return this.#advertisements !== undefined
  }

  /**
   * Tells whether the interface is up and has the source address. If the interface is down or lacks the address, the
   * sockets of the segment should be closed. When they are opened again, they join their multicast groups again. The
   * kernel may have forgotten these groups (IPv6 turned off, or an MTU below 1280), and so may snooping switches.
   */
  isUsable(): boolean {
    const { view } = this.#context
    return isUp(view.link(this.interfaceIndex)) && view.canSendFrom(this.interfaceIndex, this.source)
  }

  /**
   * Opens the sockets that are not open, and joins the VRRP group if the segment has a multicast router. May be called
   * again. Returns the failure, otherwise `undefined`.
   */
  open(): Failure | undefined {
    const transports = [...this.routers.values()].map((router) => router.parameters.transport)
    const group = transports.flatMap((transport) => (transport.mode === 'multicast' ? [transport.group] : []))[0]
    if (this.#advertisements === undefined) return this.#openSockets(group)
    if (group === undefined || group === this.#group) return undefined
    const failure = this.#advertisements.join(group)
    if (failure === undefined) this.#group = group
    return failure
  }

  #openSockets(group: Address | undefined): Failure | undefined {
    const { index: interfaceIndex, name: interfaceName } = this.#link
    const { family, source } = this
    const { sockets } = this.#context
    const onFailure = (failure: Failure) => this.#context.onFailure(this, failure)
    const onReadable = this.reception.read
    const common = { interfaceIndex, interfaceName, family, onFailure }
    const onOverdue = () => this.#context.turns.serveOverdue()
    const advertisements = sockets.openAdvertisementSocket({ ...common, source, group, onReadable, onOverdue })
    if ('code' in advertisements) return advertisements
    const frames = sockets.openFrameSocket({ ...common, hears: 'nothing' })
    if ('code' in frames) {
      advertisements.close()
      return frames
    }
    this.#advertisements = advertisements
    this.reception.readFrom(advertisements)
    this.#frames = frames
    this.#group = group
    return undefined
  }

  close(): void {
    for (const router of this.routers.values()) router.endWatch()
    this.#advertisements?.close()
    this.#frames?.close()
    this.#listener.close()
    this.#peers.close()
    this.#secondary.close()
    this.#advertisements = undefined
    this.reception.readFrom(undefined)
    this.#frames = undefined
  }

  send(datagrams: readonly Datagram[]): readonly SendOutcome[] {
    return this.#advertisements?.send(datagrams) ?? datagrams.map(() => ({ ok: false, failure: CLOSED }))
  }

  /**
   * Asks the LAN of the segment which host has the VIPs. A failure is ignored, because the router asks again at its
   * next advertisement.
   */
  ask(questions: readonly Uint8Array[]): void {
    this.#frames?.send(questions)
  }

  apply(steps: readonly AddressStep[]): readonly AddressOutcome[] {
    return this.#context.writer.apply(steps)
  }

  // Listening ----------------------------------------------------------------------------------------------------------

  /**
   * Sets what the sockets receive: announcements of other hosts while a router waits for them, and answers while a
   * router asks. This function also watches the peers to which an Active sends by unicast, because ARP and NDP
   * questions do not reach peers behind a router.
   */
  watchAnnouncements(): void {
    const routers = [...this.routers.values()]
    const between = routers.some(({ awaitsAnnouncements }) => awaitsAnnouncements)
    const asking = routers.some(({ asks, duplicates }) => asks || duplicates.isOn)
    if (!this.isOpen) return
    // A router that has become Active learns the MAC of each peer from an answer.
    this.questions.noteAnswers()
    this.#listener.expectNothing()
    const hears = between ? 'claims' : asking ? 'answers' : 'nothing'
    this.#listener.listen(hears)
    this.#secondary.listen(hears)
    if (!routers.some(({ asks }) => asks)) this.questions.end()
    this.#peers.watch(routers.some(({ asks, parameters }) => asks && parameters.transport.mode === 'unicast'))
  }

  /**
   * Handles an announcement or answer of another host. Duplicate address detection also needs the MAC of each
   * advertising router.
   */
  #hearAnnouncement(announcement: HeardAnnouncement, heardAt: Millis, frame: Uint8Array): void {
    const { address } = announcement
    const found = this.questions.hear(announcement, heardAt)
    if (found !== undefined) this.#listener.expect(address, frame, this.questions.patienceFor(address))
    if (found === 'back') this.#context.onPeerReached(this, address)
    this.#context.onAnnouncement(this, announcement, heardAt)
  }

  /** Sends the collected questions of duplicate address detection, as the last frames of a turn. */
  askForDuplicates(): void {
    const addresses = this.detection.take()
    if (addresses.length === 0) return
    const frames = this.questions.detectionProbes(addresses)
    if (frames.length > 0) this.ask(frames)
  }
}

const CLOSED: Failure = {
  code: 'ENOTCONN',
  syscall: 'sendmmsg',
  message: 'Cannot send: the sockets of the interface are closed',
  retryable: true,
}
