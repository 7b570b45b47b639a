/**
 * Checks which peers answer at all. After every periodic advertisement, an Active asks each peer for the peer's own
 * address. If a peer answers again after a silence, a network split has healed (docs/adr/0022). This file decides which
 * frame asks which host, and how long such a silence is. Known are the addresses of the peers, but no routers, states
 * or sockets.
 */
import { neighborSolicitation } from '../../arp/neighbor-solicitation.ts'
import { arpQuestion } from '../../arp/probe.ts'
import { type Address, familyOf } from '../../wire/address.ts'
import { BROADCAST_MAC, type Mac } from '../../wire/mac.ts'
import { type Millis, millis, plus } from '../../wire/units.ts'

/**
 * Number of advertisement intervals without an answer after which a peer counts as separated from this node. A peer
 * that became Active because it did not receive this node has missed three advertisements and the questions after them
 * (RFC 9568 §6.1). The loss of one or two packets is not a split.
 */
const SILENCE = 2.5
/**
 * Shortest time in milliseconds between two questions to one peer, whichever router asks. With intervals down to 50 ms,
 * every advertisement has its own question.
 */
export const SPACING = 45
/**
 * A clock asks a peer at the MAC of its last answer, and asks the whole LAN with one of this number of questions. By
 * the questions to the LAN, a peer with a new MAC is found, and the LAN is not disturbed by each question.
 */
const WIDE_EVERY = 8

type Peer = {
  /** MAC of the peer's last answer (IPv4 only). Questions go to this MAC alone until the peer fails to answer. */
  readonly mac: Mac | undefined
  /** Time of the first question since the peer's last answer; `undefined` if the peer was not asked since then. */
  readonly unansweredSince: Millis | undefined
  readonly askedAt: Millis
  readonly patience: Millis
}
const NEW: Peer = {
  mac: undefined,
  unansweredSince: undefined,
  askedAt: millis(Number.NEGATIVE_INFINITY),
  patience: millis(Number.POSITIVE_INFINITY),
}

/** Source address and MAC of the node that asks. */
export type Asking = { readonly source: Address; readonly mac: Mac }

/** Times at which a clock asks: the first time, and the milliseconds between two questions. */
export type Grid = { readonly first: Millis; readonly period: Millis }
type RepeatedFrame = { readonly every: number; readonly frame: Uint8Array }

export class PeerCheck {
  readonly #peers = new Map<Address, Peer>()
  /**
   * Peers to which the guardian's clock thread sends ARP or Neighbor Discovery requests, with the VRID of the router
   * that sends them. If several routers have the same peer, one router asks for all of them.
   */
  readonly #repeated = new Map<Address, { readonly vrid: number } & Grid>()
  readonly #answeredAt: (peer: Address) => Millis | undefined

  /** `answeredAt` returns the time of the last answer that hear() did not get, because it was expected. */
  constructor(answeredAt: (peer: Address) => Millis | undefined = () => undefined) {
    this.#answeredAt = answeredAt
  }

  /**
   * Returns the ARP or NDP questions to peers that are due. `interval` is the advertisement interval of the router with
   * these peers. Several routers may have the same peers.
   */
  ask(peers: readonly Address[], { mac: ours, source }: Asking, interval: Millis, now: Millis): readonly Uint8Array[] {
    return peers.flatMap((peer) => {
      const before = this.#asAnswered(peer) ?? NEW
      if (now - before.askedAt < SPACING) return []
      const { mac, patience, unansweredSince } = before
      this.#peers.set(peer, {
        mac,
        unansweredSince: unansweredSince ?? now,
        askedAt: now,
        patience: millis(Math.min(patience, interval * SILENCE)),
      })
      if (familyOf(peer) === 'ipv6') return [neighborSolicitation({ target: peer, source, mac: ours })]
      // A peer that does not answer may have another MAC now, so all hosts are asked.
      const targets = [
        ...(mac === undefined ? [] : [mac]),
        ...(mac !== undefined && unansweredSince === undefined ? [] : [BROADCAST_MAC]),
      ]
      return targets.map((to) => arpQuestion({ address: peer, source, mac: ours, to }))
    })
  }

  /**
   * Notes an answer of a peer. Returns `back` for a peer that answers after a silence; `undefined` if no router has
   * asked for this address.
   */
  hear(peer: Address, mac: Mac, heardAt: Millis): 'present' | 'back' | undefined {
    const known = this.#asAnswered(peer)
    if (known === undefined) return undefined
    const { patience, unansweredSince } = known
    this.#peers.set(peer, { ...known, mac, unansweredSince: this.#nextQuestion(peer, heardAt) })
    return unansweredSince !== undefined && heardAt - unansweredSince > patience ? 'back' : 'present'
  }

  /**
   * Leaves the questions to these peers to the clock of a router. Returns the frames of a round. Peers that another
   * clock asks are left out. `interval` is the advertisement interval, and `grid` has the times of the questions.
   */
  repeat(
    peers: readonly Address[],
    { mac: ours, source }: Asking,
    { grid, interval, vrid }: { readonly grid: Grid; readonly interval: Millis; readonly vrid: number },
  ): readonly RepeatedFrame[] {
    const every = Math.max(1, Math.round(grid.period / interval))
    return peers.flatMap((peer) => {
      if ((this.#repeated.get(peer)?.vrid ?? vrid) !== vrid) return []
      const before = this.#asAnswered(peer) ?? NEW
      const { mac, patience, unansweredSince = grid.first } = before
      this.#repeated.set(peer, { vrid, ...grid })
      this.#peers.set(peer, {
        ...before,
        unansweredSince,
        patience: millis(Math.min(patience, interval * SILENCE)),
      })
      if (familyOf(peer) === 'ipv6')
        return [{ every, frame: neighborSolicitation({ target: peer, source, mac: ours }) }]
      const question = (to: Mac) => arpQuestion({ address: peer, source, mac: ours, to })
      if (mac === undefined) return [{ every, frame: question(BROADCAST_MAC) }]
      return [
        { every, frame: question(mac) },
        { every: every * WIDE_EVERY, frame: question(BROADCAST_MAC) },
      ]
    })
  }

  /** Takes the questions of this router's clock to peers back, so that the engine asks them. */
  takeBack(vrid: number): void {
    for (const [peer, asked] of this.#repeated) if (asked.vrid === vrid) this.#repeated.delete(peer)
  }

  /** Tells whether the guardian's clock asks all these peers. */
  isRepeated(peers: readonly Address[]): boolean {
    return peers.every((peer) => this.#repeated.has(peer))
  }

  /** Returns the milliseconds of silence after which an answer of a peer is `back`. */
  patienceFor(peer: Address): number {
    return this.#peers.get(peer)?.patience ?? 0
  }

  /** Notes the peers' answers that hear() did not get, because the times of these answers are about to be forgotten. */
  noteAnswers(): void {
    for (const peer of this.#peers.keys()) this.#peers.set(peer, this.#asAnswered(peer) ?? NEW)
  }

  #asAnswered(peer: Address): Peer | undefined {
    const known = this.#peers.get(peer)
    const at = this.#answeredAt(peer)
    if (known?.unansweredSince === undefined || at === undefined || at < known.unansweredSince) return known
    return { ...known, unansweredSince: this.#nextQuestion(peer, at) }
  }

  /** Returns when the guardian's clock asks a peer again, without the engine; `undefined` if the clock does not ask. */
  #nextQuestion(peer: Address, after: Millis): Millis | undefined {
    const grid = this.#repeated.get(peer)
    return grid && plus(after, grid.period - ((after - grid.first) % grid.period))
  }

  clear(): void {
    this.#peers.clear()
    this.#repeated.clear()
  }
}
