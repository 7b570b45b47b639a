/**
 * What becomes of each advertisement that a segment's socket has: counted, remembered as a stranger's, told, and given
 * to the router with its VRID. Decided here: which discards are news for people. Whether a packet is good is decided in
 * vrrp/receive.ts; refuses to know sockets, queues and what a router does with it.
 */
import type { Advertisement, ReceiveWarning } from '../../vrrp/advertisement.ts'
import { type Discarded, receive } from '../../vrrp/receive.ts'
import { type Address, isMulticast } from '../../wire/address.ts'
import type { Millis } from '../../wire/units.ts'
import type { ReceivedPacket } from '../ports.ts'
import { postEvent } from '../post-event.ts'
import type { Router } from '../router.ts'
import { DiscardNews } from '../telemetry/discard-news.ts'
import type { Counters, Recorder } from '../telemetry/recorder.ts'
import { isStrange, strangeWords } from './foreign-peers.ts'

/** Whose packets they are. */
export type Lan = {
  readonly interfaceName: string
  readonly source: Address
  readonly routers: ReadonlyMap<number, Router>
  readonly discarded: Counters
}

export class Reception {
  readonly #lan: Lan
  readonly #recorder: Recorder
  readonly #discards: DiscardNews

  constructor(lan: Lan, recorder: Recorder) {
    this.#discards = new DiscardNews(() => lan.interfaceName, recorder.chronicle, recorder.elapsed)
    this.#lan = lan
    this.#recorder = recorder
  }

  deliver(packet: ReceivedPacket, now: Millis): void {
    const verdict = receive(
      packet,
      (vrid) => this.#lan.routers.get(vrid)?.parameters,
      (address) => address === this.#lan.source,
    )
    if (verdict.kind === 'discarded') return this.#discard(verdict, packet)
    const { advertisement, warnings } = verdict
    const router = this.#lan.routers.get(advertisement.vrid)
    if (router === undefined) return
    router.counters.countReceived(advertisement.priority)
    router.history.strangers.note({
      address: packet.source,
      reasons: warnings,
      version: advertisement.version,
      listenedTo: true,
      heardAt: packet.receivedAt,
    })
    for (const warning of warnings) {
      router.counters.warnings.add(warning)
      this.#recorder.logLimited(
        `${router.name} ${warning} ${packet.source}`,
        'warn',
        `${router.name}: ${warning} in an advertisement of ${packet.source}${textOf(warning, advertisement, router)}`,
        { router: router.name, warning, peer: packet.source },
      )
    }
    const { receivedAt, source } = packet
    router.advertising.note(source, advertisement.priority, receivedAt, router.parameters)
    router.duplicates.hearAdvertisement(source, advertisement.priority, receivedAt, now)
    const before = router.state
    const heard = { kind: 'advertisementReceived', source, advertisement, receivedAt } as const
    postEvent(router, heard, now)
    router.peerNews.note(before, router, heard, now)
    router.activesNews.look(router, now)
  }

  #discard({ reason, version, vrid }: Discarded, packet: ReceivedPacket): void {
    this.#lan.discarded.add(reason)
    const router = vrid === undefined ? undefined : this.#lan.routers.get(vrid)
    router?.counters.discarded.add(reason)
    const { receivedAt: heardAt, source: address } = packet
    router?.history.strangers.note({ address, reasons: [reason], version, listenedTo: false, heardAt })
    // Somebody else's VRID on a shared LAN, and our own packets looped back, are no news (VR-RX-09).
    if (reason === 'vrid-unknown' || reason === 'self-originated') return
    if (reason === 'destination' && packet.destination !== undefined && isMulticast(packet.destination)) return
    this.#discards.note(reason, packet.source, router?.name)
    this.#recorder.logLimited(
      `discard ${this.#lan.interfaceName} ${reason} ${packet.source}`,
      'warn',
      `Discarded a packet of ${packet.source} on ${this.#lan.interfaceName}: ${reason}${
        router !== undefined && isStrange(reason)
          ? `: for ${router.name} (VRID ${vrid}) it ${strangeWords(reason, version, router.parameters.version)}`
          : ''
      }`,
      {
        interface: this.#lan.interfaceName,
        reason,
        peer: packet.source,
        destination: packet.destination,
        vrid,
        vrrpVersion: version,
        ...(router === undefined ? {} : { router: router.name }),
      },
    )
  }
}

function textOf(warning: ReceiveWarning, { priority, version }: Advertisement, { parameters }: Router): string {
  if (isStrange(warning)) return `: it ${strangeWords(warning, version, parameters.version)}`
  // RFC 9568 §7.1 with EID 8298: a Backup that took over while its owner was away is no misconfiguration.
  if (warning === 'advert-received-while-owner')
    return `: it has priority ${priority}, and this router is the address owner (priority 255)`
  return ''
}
