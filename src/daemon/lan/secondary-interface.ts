/**
 * A secondary interface: an interface and family on which routers have addresses without speaking VRRP there. Examples
 * are an excluded address of the other family, and an address on another interface (VR-CFG-06). The node announces
 * these addresses, asks which other host has them and receives the answers, as on the routers' own segment. This file
 * knows nothing about routers, and the purpose of a question.
 */
import { neighborSolicitation } from '../../arp/neighbor-solicitation.ts'
import { arpProbe } from '../../arp/probe.ts'
import { LOG } from '../../log/log.ts'
import { type Address, type Family, isLinkLocal } from '../../wire/address.ts'
import type { Mac } from '../../wire/mac.ts'
import type { Millis } from '../../wire/units.ts'
import type { NetworkView } from '../addresses/network-view.ts'
import type { Failure, FrameSocket, Hears, Link, SendOutcome, SocketPort } from '../ports.ts'
import type { Recorder } from '../telemetry/recorder.ts'
import { Announcer } from './announcer.ts'
import { ArpListener, type HeardAnnouncement } from './arp-listener.ts'

export type SecondaryContext = {
  readonly sockets: Pick<SocketPort, 'openFrameSocket'>
  readonly view: NetworkView
  readonly recorder: Recorder
  readonly spacing: (family: Family) => number | undefined
  readonly isVirtual: (address: Address) => boolean
  readonly onFailure: (failure: Failure) => void
  readonly onAnnouncement: (announcement: HeardAnnouncement, heardAt: Millis) => void
}

export type Asking = { readonly family: Family; readonly mac: Mac; readonly source: Address | undefined }

/**
 * Returns frames that ask all hosts for each address. In IPv6 no host can answer if this node has no source address.
 */
export function probesFor(addresses: readonly Address[], { family, mac, source }: Asking): readonly Uint8Array[] {
  if (family === 'ipv4') return addresses.map((address) => arpProbe({ address, mac }))
  return source === undefined ? [] : addresses.map((target) => neighborSolicitation({ target, source, mac }))
}

export class SecondaryInterface {
  readonly interfaceIndex: number
  readonly family: Family
  readonly announcer: Announcer
  readonly #context: SecondaryContext
  readonly #listener: ArpListener
  /** Last state of the interface, used after the interface has disappeared. */
  #lastLink: Link
  #frames: FrameSocket | undefined

  constructor(link: Link, family: Family, context: SecondaryContext) {
    const { view } = context
    this.interfaceIndex = link.index
    this.family = family
    this.#lastLink = link
    this.#context = context
    this.announcer = new Announcer(
      (frames) => this.#send(frames),
      () => this.link.mac,
      (address) => view.canSendFrom(this.interfaceIndex, address) || !view.isOn(this.interfaceIndex, address),
      () => context.spacing(family),
    )
    const { sockets, recorder, onAnnouncement, onFailure } = context
    const isOurs = (mac: Mac) => view.links().some((own) => own.mac === mac)
    this.#listener = new ArpListener(family, () => this.link, { sockets, recorder, onFailure, isOurs, onAnnouncement })
  }

  get link(): Link {
    this.#lastLink = this.#context.view.link(this.interfaceIndex) ?? this.#lastLink
    return this.#lastLink
  }

  get isOpen(): boolean {
    return this.#frames !== undefined
  }

  listen(hears: Hears): void {
    this.#listener.listen(hears)
  }

  /** Asks the LAN of the secondary interface which host has the addresses. A failure is ignored. */
  ask(addresses: readonly Address[]): void {
    const { family, link } = this
    const frames = probesFor(addresses, { family, mac: link.mac, source: this.#linkLocal() })
    if (frames.length > 0) this.#send(frames)
  }

  close(): void {
    this.#frames?.close()
    this.#frames = undefined
    this.#listener.close()
  }

  #linkLocal(): Address | undefined {
    const { isVirtual, view } = this.#context
    return view
      .on(this.interfaceIndex, 'ipv6')
      .find(({ address, tentative }) => isLinkLocal(address) && !tentative && !isVirtual(address))?.address
  }

  /**
   * Sends frames on the secondary interface. The first call of this function opens the socket. If that fails, the
   * failure is logged, and the next call tries again.
   */
  #send(frames: readonly Uint8Array[]): readonly SendOutcome[] {
    if (this.#frames === undefined) {
      const { onFailure, recorder, sockets } = this.#context
      const { index: interfaceIndex, name: interfaceName } = this.link
      const opened = sockets.openFrameSocket({
        interfaceIndex,
        interfaceName,
        family: this.family,
        hears: 'nothing',
        onFailure,
      })
      if ('code' in opened) {
        recorder.logLimited(
          `secondary ${interfaceName} ${opened.code}`,
          LOG.secondaryInterfaceNotOpened,
          opened.message,
          {
            interface: interfaceName,
            code: opened.code,
          },
        )
        return frames.map(() => ({ ok: false, failure: opened }))
      }
      this.#frames = opened
    }
    return this.#frames.send(frames)
  }
}
