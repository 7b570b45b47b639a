/**
 * Receives announcements and answers of other hosts for our addresses, by ARP and Neighbor Discovery, on one interface.
 * The listener receives no more frames than a router needs, because otherwise every ARP packet of a LAN would wake the
 * engine. This file decides which frames wake the engine at which time, and which senders are ignored. This file knows
 * nothing about states, and the meaning of a frame.
 */
import { type Announcement, announcementIn, isAnswerTo } from '../../arp/probe.ts'
import { LOG } from '../../log/log.ts'
import type { Address, Family } from '../../wire/address.ts'
import type { Mac } from '../../wire/mac.ts'
import type { Millis } from '../../wire/units.ts'
import type { Failure, FrameSocket, Hears, Link, SocketPort } from '../ports.ts'
import type { Recorder } from '../telemetry/recorder.ts'

/** Milliseconds after an ARP or NDP request in which an answer belongs to that request. */
export const ANSWERED_WITHIN = 50

/**
 * ARP or NDP frame in which another host claims an address of this node. `isAnswer` is true if the frame answers a
 * question of this node, false if the frame was sent to all hosts.
 */
export type HeardAnnouncement = Announcement & { readonly isAnswer: boolean }

export type ArpListenerContext = {
  readonly sockets: Pick<SocketPort, 'openFrameSocket'>
  readonly recorder: Recorder
  readonly onFailure: (failure: Failure) => void
  /**
   * Tells whether an interface of this node has the MAC. Two interfaces in one LAN answer for each other's addresses
   * (arp_ignore 0).
   */
  readonly isOurs: (mac: Mac) => boolean
  /** Called with each announcement or answer of another host. `frame` is valid only during the call. */
  readonly onAnnouncement: (announcement: HeardAnnouncement, heardAt: Millis, frame: Uint8Array) => void
}

export class ArpListener {
  readonly #family: Family
  readonly #context: ArpListenerContext
  /** Returns the present state of the interface, because its MAC may change. */
  readonly #link: () => Link
  #hears: Hears = 'nothing'
  #socket: FrameSocket | undefined

  constructor(family: Family, link: () => Link, context: ArpListenerContext) {
    this.#family = family
    this.#link = link
    this.#context = context
  }

  /**
   * Sets which frames the socket receives. May be called again. If the socket cannot be opened, the failure is logged,
   * and only advertisements decide. An open socket stays open, because closing it takes too long for a router that has
   * become Active or is Leaving.
   */
  listen(hears: Hears): void {
    if (hears === this.#hears) return
    if (this.#socket !== undefined) {
      this.#socket.hear(hears)
      this.#hears = hears
      return
    }
    this.#hears = hears
    if (hears === 'nothing') return
    const { index: interfaceIndex, name: interfaceName } = this.#link()
    const opened = this.#context.sockets.openFrameSocket({
      interfaceIndex,
      interfaceName,
      family: this.#family,
      hears,
      onFrame: (frame, receivedAt) => this.#hear(frame, receivedAt),
      onFailure: this.#context.onFailure,
    })
    if (!('code' in opened)) this.#socket = opened
    else
      this.#context.recorder.log(LOG.arpListenerNotOpened, opened.message, {
        interface: interfaceName,
        code: opened.code,
      })
  }

  /** Keeps further answers of a peer that are the same as this one from waking the engine. */
  expect(peer: Address, answer: Uint8Array, within: number): void {
    this.#socket?.expect?.(peer, answer, within)
  }

  /** Returns the time of the last answer that did not wake the engine; `undefined` if no answer is expected. */
  answeredAt(peer: Address): Millis | undefined {
    return this.#socket?.answeredAt?.(peer)
  }

  expectNothing(): void {
    this.#socket?.expectNothing?.()
  }

  close(): void {
    this.#socket?.close()
    this.#socket = undefined
    this.#hears = 'nothing'
  }

  #hear(frame: Uint8Array, receivedAt: Millis): void {
    const announcement = announcementIn(frame)
    const { mac } = this.#link()
    if (announcement === undefined || this.#context.isOurs(announcement.mac)) return
    this.#context.onAnnouncement({ ...announcement, isAnswer: isAnswerTo(frame, mac) }, receivedAt, frame)
  }
}
