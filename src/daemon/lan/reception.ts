/**
 * Handles the packets of the advertisement socket of one segment: reads, checks, counts and reports the packets, and
 * posts them to the router with their VRID. This file decides how many packets are read at a time, and which discarded
 * packets are reported. Whether a packet is valid is decided in vrrp/receive.ts. This file knows nothing about how a
 * socket is opened, and what a router does with a packet.
 */
import { defined } from '../../base/defined.ts'
import { LOG } from '../../log/log.ts'
import type { Advertisement, ReceiveWarning } from '../../vrrp/advertisement.ts'
import { discardText } from '../../vrrp/reason-text.ts'
import { type Discarded, receive } from '../../vrrp/receive.ts'
import { type Address, isMulticast } from '../../wire/address.ts'
import { type Millis, plus } from '../../wire/units.ts'
import type { AdvertisementSocket, ReceivedPacket } from '../ports.ts'
import { postEvent } from '../router/post-event.ts'
import type { Router } from '../router/router.ts'
import { DiscardNews } from '../telemetry/discard-news.ts'
import { Counters, type Recorder } from '../telemetry/recorder.ts'
import { RATES, TokenBucket } from '../telemetry/token-bucket.ts'
import type { Turns } from '../turns.ts'
import { Backlog } from './backlog.ts'
import { describeMismatch, isMismatch } from './mismatched-routers.ts'

/**
 * Limit of batches that are read when a deadline expires: 4 096 packets. After these batches the router decides, so
 * that a flood cannot prevent a takeover (ground rule 2: a waiting packet counts).
 */
const DRAIN_BATCHES = 32
/**
 * Milliseconds for reading the sockets of all segments when a deadline expires. In the first second of an engine, whose
 * code is not compiled yet, 4 096 packets take 200 ms. The engine's own advertisement must not wait that long
 * (docs/adr/0003).
 */
const DRAIN_TIME = 25
/**
 * Number of batches that are read before the engine looks at its deadlines again. With this limit, due work, above all
 * the next own advertisement, waits for these packets only. A turn reads about as many packets as there are virtual
 * routers, and can answer all of them.
 */
export const READ_BATCHES = 2

/** The fields of the segment that reception uses. */
export type Lan = {
  readonly interfaceName: string
  readonly source: Address
  readonly routers: ReadonlyMap<number, Router>
}

export class Reception {
  /** Number of invalid packets by reason. */
  readonly discarded = new Counters()
  readonly #lan: Lan
  readonly #turns: Pick<Turns, 'begin' | 'endWoken'>
  readonly #recorder: Recorder
  readonly #discards: DiscardNews
  readonly #backlog = new Backlog()
  #socket: AdvertisementSocket | undefined
  #overflowed = 0
  /** Number of packets dropped by the kernel that no event has reported yet. */
  #unreported = 0
  readonly #lossBucket = new TokenBucket(RATES.packetsLost)

  constructor(lan: Lan, turns: Pick<Turns, 'begin' | 'endWoken'>, recorder: Recorder) {
    this.#turns = turns
    this.#discards = new DiscardNews(() => lan.interfaceName, recorder.chronicle, recorder.elapsed)
    this.#lan = lan
    this.#recorder = recorder
  }

  /** Sets the socket from which advertisements are read; `undefined`: no socket. */
  readFrom(socket: AdvertisementSocket | undefined): void {
    this.#socket = socket
  }

  /** Number of packets that the kernel dropped because the queue was full. */
  get overflowed(): number {
    return this.#overflowed
  }

  /**
   * True if packets wait or the kernel may have dropped packets, so that a missing advertisement proves nothing (ground
   * rule 2: a waiting packet counts).
   */
  get isIncomplete(): boolean {
    return this.#backlog.mayHide
  }

  /** Reads some packets in a turn without a deadline. Called while packets wait. */
  readonly read = (): void => {
    const now = this.#turns.begin('advertisement')
    this.drain(now, READ_BATCHES)
    this.#turns.endWoken(now)
  }

  /**
   * Posts the waiting packets to the routers, up to `batches` batches. No batch begins later than DRAIN_TIME after
   * `now`.
   */
  drain(now: Millis, batches = DRAIN_BATCHES): void {
    const result = this.#socket?.drain(batches, (packet) => this.#deliver(packet, now), plus(now, DRAIN_TIME))
    if (result === undefined) return
    this.#overflowed += result.lost
    if (result.lost > 0) this.#reportLost(result.lost, now)
    this.#backlog.note(result)
  }

  #reportLost(lost: number, now: Millis): void {
    this.#unreported += lost
    if (this.#lossBucket.take(now) === undefined) return
    const count = this.#unreported
    this.#unreported = 0
    this.#recorder.chronicle.record({ kind: 'packetsLost', interface: this.#lan.interfaceName, count })
  }

  #deliver(packet: ReceivedPacket, now: Millis): void {
    const received = receive(
      packet,
      (vrid) => this.#lan.routers.get(vrid)?.parameters,
      (address) => address === this.#lan.source,
    )
    if (received.kind === 'discarded') return this.#discard(received, packet)
    const { advertisement, warnings } = received
    const router = this.#lan.routers.get(advertisement.vrid)
    if (router === undefined) return
    const { receivedAt, source } = packet
    const { priority, version } = advertisement
    router.counters.countReceived(priority)
    const sighting = { address: source, reasons: warnings, version, listenedTo: true, heardAt: receivedAt }
    router.history.mismatched.note(sighting)
    for (const warning of warnings) this.#warn(router, warning, source, advertisement)
    router.advertising.note(source, priority, receivedAt, router.parameters)
    router.duplicates.hearAdvertisement(source, priority, receivedAt, now)
    router.watch.note(packet, advertisement, warnings.length > 0)
    const before = router.state
    const heard = { kind: 'advertisementReceived', source, advertisement, receivedAt } as const
    postEvent(router, heard, now)
    router.peerNews.note(before, router, heard, now)
    router.activesNews.look(router, now)
  }

  #warn(router: Router, warning: ReceiveWarning, source: Address, advertisement: Advertisement): void {
    router.counters.warnings.add(warning)
    const { name } = router
    this.#recorder.logLimited(
      `${name} ${warning} ${source}`,
      LOG.advertisementUnusual,
      `${name}: ${warning} in an advertisement of ${source}${describeWarning(warning, advertisement, router)}`,
      { router: name, warning, peer: source },
    )
  }

  #discard({ reason, version, vrid }: Discarded, packet: ReceivedPacket): void {
    this.discarded.add(reason)
    const router = vrid === undefined ? undefined : this.#lan.routers.get(vrid)
    router?.counters.discarded.add(reason)
    const { destination, receivedAt: heardAt, source: address } = packet
    router?.history.mismatched.note({ address, reasons: [reason], version, listenedTo: false, heardAt })
    // Packets of another group on a shared LAN, and our own packets that come back, are not reported (VR-RX-09).
    if (reason === 'vrid-unknown' || reason === 'self-originated') return
    if (reason === 'destination' && destination !== undefined && isMulticast(destination)) return
    this.#discards.note(reason, address, router?.name)
    const { interfaceName } = this.#lan
    const whose = router === undefined ? '' : ` for ${router.name} (VRID ${vrid})`
    const why =
      reason === 'version' && router !== undefined && version !== undefined
        ? `its VRRP version is ${version}, this router has ${router.parameters.version}`
        : discardText(reason)
    this.#recorder.logLimited(
      `discard ${interfaceName} ${reason} ${address}`,
      LOG.packetDiscarded,
      `Discarded a packet of ${address} on ${interfaceName}${whose}: ${why}`,
      {
        ...{ interface: interfaceName, reason, peer: address, destination, vrid, vrrpVersion: version },
        ...defined({ router: router?.name }),
      },
    )
  }
}

function describeWarning(
  warning: ReceiveWarning,
  { priority, version }: Advertisement,
  { parameters }: Router,
): string {
  if (isMismatch(warning)) return `: it ${describeMismatch(warning, version, parameters.version)}`
  // RFC 9568 §7.1 with EID 8298: a Backup that took over while the address owner was away is not misconfigured. For
  // this reason the advertisement of such a Backup causes no warning for the owner.
  if (warning === 'advert-received-while-owner')
    return `: it has priority ${priority}, and this router is the address owner (priority 255)`
  return ''
}
