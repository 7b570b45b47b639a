/**
 * Which of the peers' nodes answer at all: an Active asks each of them for its own address right after every periodic
 * advertisement, and an answer after some silence is the end of a cut (docs/adr/0022). Decided here: which frame asks which host,
 * and how long a silence may be one. Knows the peers by their addresses; refuses to know routers, states, sockets, and what
 * follows from an answer.
 */
import { neighborSolicitation } from '../../arp/neighbor-solicitation.ts'
import { arpQuestion } from '../../arp/probe.ts'
import { type Address, familyOf } from '../../wire/address.ts'
import { BROADCAST_MAC, type Mac } from '../../wire/mac.ts'
import { type Millis, millis } from '../../wire/units.ts'

/**
 * Advertisement intervals. A peer that became Active because it did not hear us has missed three advertisements and the
 * questions after them (RFC 9568 §6.1); one or two lost packets are no cut.
 */
const SILENCE = 2.5
/** Milliseconds between two questions for one address, for whichever router: every advertisement down to 50 ms has its own. */
const SPACING = 45

type Peer = {
  /** MAC of its last answer: until it fails, no other host needs to hear the question. IPv4 only. */
  readonly mac: Mac | undefined
  /** Time of the first question since its last answer. */
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

/** Addresses in whose name is asked. */
export type Asking = { readonly source: Address; readonly mac: Mac }

export class PeerCheck {
  readonly #peers = new Map<Address, Peer>()

  /** Returns the questions that are due. `interval`: of the router that has these peers; several may share one. */
  ask(peers: readonly Address[], { mac: ours, source }: Asking, interval: Millis, now: Millis): readonly Uint8Array[] {
    return peers.flatMap((peer) => {
      const before = this.#peers.get(peer) ?? NEW
      if (now - before.askedAt < SPACING) return []
      const { mac, patience, unansweredSince } = before
      this.#peers.set(peer, {
        mac,
        unansweredSince: unansweredSince ?? now,
        askedAt: now,
        patience: millis(Math.min(patience, interval * SILENCE)),
      })
      if (familyOf(peer) === 'ipv6') return [neighborSolicitation({ target: peer, source, mac: ours })]
      // A silent peer may have got another MAC.
      const targets = [
        ...(mac === undefined ? [] : [mac]),
        ...(mac !== undefined && unansweredSince === undefined ? [] : [BROADCAST_MAC]),
      ]
      return targets.map((to) => arpQuestion({ address: peer, source, mac: ours, to }))
    })
  }

  /** Returns `undefined` if no router has asked for this address. */
  hear(peer: Address, mac: Mac, heardAt: Millis): 'present' | 'back' | undefined {
    const known = this.#peers.get(peer)
    if (known === undefined) return undefined
    const { patience, unansweredSince } = known
    this.#peers.set(peer, { ...known, mac, unansweredSince: undefined })
    return unansweredSince !== undefined && heardAt - unansweredSince > patience ? 'back' : 'present'
  }

  clear(): void {
    this.#peers.clear()
  }
}
