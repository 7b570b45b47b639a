/**
 * Who else says that he has one of our addresses, on one segment. Listens no more than somebody needs: every ARP packet
 * of a LAN would wake the engine. Decided here: what may wake it when, and whose frames are no news. Refuses to know
 * states and what a claim leads to.
 */
import { type Claim, claimOf, isAnswerTo } from '../../arp/probe.ts'
import type { Family } from '../../wire/address.ts'
import type { Mac } from '../../wire/mac.ts'
import type { Millis } from '../../wire/units.ts'
import type { Failure, FrameSocket, Hears, Link, SocketPort } from '../ports.ts'
import type { Recorder } from '../telemetry/recorder.ts'

/** An answer that comes later than so many ms after a question was given to another one. */
export const ANSWERED_WITHIN = 50

/** `isAnswer`: we have asked; otherwise it was said to everybody. */
export type HeardClaim = Claim & { readonly isAnswer: boolean }

export type ArpListenerContext = {
  readonly sockets: Pick<SocketPort, 'openFrameSocket'>
  readonly recorder: Recorder
  readonly onFailure: (failure: Failure) => void
  /** Of any interface of this node: two in one LAN answer for each other's addresses (arp_ignore 0). */
  readonly isOurs: (mac: Mac) => boolean
  readonly onClaim: (claim: HeardClaim, heardAt: Millis) => void
}

export class ArpListener {
  readonly #family: Family
  readonly #context: ArpListenerContext
  /** The interface as it is now: its MAC may change under us. */
  readonly #link: () => Link
  #hears: Hears = 'nothing'
  #socket: FrameSocket | undefined

  constructor(family: Family, link: () => Link, context: ArpListenerContext) {
    this.#family = family
    this.#link = link
    this.#context = context
  }

  /**
   * Idempotent. A socket that cannot be opened is told and does without: the advertisements alone decide. One that is open
   * stays: whoever has just become Active, or leaves and waits for its successor, has no time to close it.
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
