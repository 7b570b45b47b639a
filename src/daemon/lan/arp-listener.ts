/**
 * Claims of other hosts to our addresses, by ARP and Neighbor Discovery, on one interface. Listens to no more than a
 * router needs: every ARP packet of a LAN would wake the engine. Decided here: which frames wake it when, and whose are
 * no news. Refuses to know states and what a claim leads to.
 */
import { type Claim, claimOf, isAnswerTo } from '../../arp/probe.ts'
import type { Family } from '../../wire/address.ts'
import type { Mac } from '../../wire/mac.ts'
import type { Millis } from '../../wire/units.ts'
import type { Failure, FrameSocket, Hears, Link, SocketPort } from '../ports.ts'
import type { Recorder } from '../telemetry/recorder.ts'

/** Milliseconds. An answer that comes later after a question was given to another question. */
export const ANSWERED_WITHIN = 50

/** `isAnswer`: to a question of ours; otherwise it was sent to every host. */
export type HeardClaim = Claim & { readonly isAnswer: boolean }

export type ArpListenerContext = {
  readonly sockets: Pick<SocketPort, 'openFrameSocket'>
  readonly recorder: Recorder
  readonly onFailure: (failure: Failure) => void
  /**
   * Reports whether it is a MAC of this node: two interfaces in one LAN answer for each other's addresses (arp_ignore
   * 0).
   */
  readonly isOurs: (mac: Mac) => boolean
  readonly onClaim: (claim: HeardClaim, heardAt: Millis) => void
}

export class ArpListener {
  readonly #family: Family
  readonly #context: ArpListenerContext
  /** Returns the interface as it is now: its MAC may change. */
  readonly #link: () => Link
  #hears: Hears = 'nothing'
  #socket: FrameSocket | undefined

  constructor(family: Family, link: () => Link, context: ArpListenerContext) {
    this.#family = family
    this.#link = link
    this.#context = context
  }

  /**
   * Idempotent. A socket that cannot be opened is logged, and the advertisements alone decide. An open one stays: a
   * router that has just become Active, or leaves and waits for its successor, has no time to close it.
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
    else this.#context.recorder.log('warn', opened.message, { interface: interfaceName, code: opened.code })
  }

  close(): void {
    this.#socket?.close()
    this.#socket = undefined
    this.#hears = 'nothing'
  }

  #hear(frame: Uint8Array, receivedAt: Millis): void {
    const claim = claimOf(frame)
    const { mac } = this.#link()
    if (claim === undefined || this.#context.isOurs(claim.mac)) return
    this.#context.onClaim({ ...claim, isAnswer: isAnswerTo(frame, mac) }, receivedAt)
  }
}
