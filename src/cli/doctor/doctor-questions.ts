/**
 * Asks on an interface which MAC has an address (RFC 5227 §2.1.1 probes, RFC 4861 §7.2.2 solicitations), and collects
 * answers and unsolicited claims. This file decides the number and rate of questions. A question changes no cache, and
 * this node does not answer it. The answers are not judged here.
 */

import { DETECTION_STEP, MOST_QUESTIONS } from '../../arp/duplicate-detection.ts'
import { neighborSolicitation } from '../../arp/neighbor-solicitation.ts'
import { announcementIn, arpProbe } from '../../arp/probe.ts'
import type { FrameSocket, SocketPort } from '../../daemon/ports.ts'
import type { LanState } from '../../doctor/measurement.ts'
import { type Address, familyOf } from '../../wire/address.ts'
import type { Mac } from '../../wire/mac.ts'

/** Number of questions for each address, because an answer may be lost. RFC 5227 §2.1.1 sends three. */
const ROUNDS = 3
/** Limit of recorded answers and claims, so that a LAN of many hosts does not fill the memory. */
const MOST_CLAIMS = 4_096

export type Question = {
  readonly address: Address
  /** Source address of an IPv6 question. Without a source address, the IPv6 question is not sent. */
  readonly source?: Address | undefined
}

export type QuestionsOptions = {
  readonly sockets: Pick<SocketPort, 'openFrameSocket'>
  readonly interfaceIndex: number
  readonly interfaceName: string
  readonly mac: Mac
  /** MACs of all interfaces of this node. */
  readonly ownMacs: ReadonlySet<Mac>
}

export class Questions {
  readonly #options: QuestionsOptions
  readonly #sockets = new Map<string, FrameSocket>()
  readonly #claims = new Map<string, { readonly address: Address; readonly mac: Mac }>()
  readonly #times = new Map<Address, number>()
  #timer: NodeJS.Timeout | undefined

  constructor(options: QuestionsOptions) {
    this.#options = options
    const { interfaceIndex, interfaceName, ownMacs, sockets } = options
    for (const family of ['ipv4', 'ipv6'] as const) {
      const socket = sockets.openFrameSocket({
        ...{ interfaceIndex, interfaceName, family, hears: 'claims' },
        onFrame: (frame) => {
          const claim = announcementIn(frame)
          if (claim === undefined || ownMacs.has(claim.mac) || this.#claims.size >= MOST_CLAIMS) return
          this.#claims.set(`${claim.address} ${claim.mac}`, claim)
        },
        onFailure: () => {},
      })
      if ('send' in socket) this.#sockets.set(family, socket)
    }
  }

  /**
   * Sends each question three times within `durationMs`. The third question is early enough for answers. The rate per
   * interface is that of duplicate detection in the daemon.
   */
  ask(questions: readonly Question[], durationMs: number): void {
    const rounds = Array.from({ length: ROUNDS }, () => questions).flat()
    const steps = Math.max(1, Math.ceil(rounds.length / MOST_QUESTIONS))
    const every = Math.max(DETECTION_STEP, (0.8 * durationMs) / Math.max(steps, ROUNDS))
    const size = Math.max(1, Math.ceil(rounds.length / Math.max(steps, ROUNDS)))
    let at = 0
    const next = () => {
      for (const question of rounds.slice(at, at + size)) this.#askOne(question)
      at += size
      if (at < rounds.length) this.#timer = setTimeout(next, every)
    }
    next()
  }

  #askOne({ address, source }: Question): void {
    const { mac } = this.#options
    const v4 = familyOf(address) === 'ipv4'
    if (!v4 && source === undefined) return
    const frame =
      v4 || source === undefined ? arpProbe({ address, mac }) : neighborSolicitation({ target: address, source, mac })
    const sent = this.#sockets.get(familyOf(address))?.send([frame])
    if (sent?.[0]?.ok === true) this.#times.set(address, (this.#times.get(address) ?? 0) + 1)
  }

  get claims(): LanState['claims'] {
    return [...this.#claims.values()]
  }

  get asked(): LanState['asked'] {
    return [...this.#times].map(([address, times]) => ({ address, times }))
  }

  close(): void {
    clearTimeout(this.#timer)
    for (const socket of this.#sockets.values()) socket.close()
  }
}
