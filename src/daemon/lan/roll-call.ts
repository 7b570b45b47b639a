/**
 * Which of the other routers' nodes answer at all: an Active asks each of them for its own address right after every
 * periodic advertisement, and an answer after some silence is the end of a cut (docs/adr/0022). Decided here: whom to
 * ask in which frame, and how long a silence may be one. Knows the routers' nodes by their addresses; refuses to know
 * routers, states, sockets, and what is done then.
 */
import { neighborSolicitation } from '../../arp/neighbor-solicitation.ts'
import { arpQuestion } from '../../arp/probe.ts'
import { type Address, familyOf } from '../../wire/address.ts'
import { BROADCAST_MAC, type Mac } from '../../wire/mac.ts'
import { type Millis, millis } from '../../wire/units.ts'

/**
 * Advertisement intervals. Who became Active because he did not hear us has missed three advertisements and what was
 * asked with them (RFC 9568 §6.1); one or two that are lost are no cut.
 */
const SILENCE = 2.5
/** Between two questions for one address, whoever wants to know: every advertisement down to 50 ms has its own. */
const SPACING = 45

type Presence = {
  /** Of his last answer: until it fails, nobody else needs to hear the question. IPv4 only. */
  readonly mac: Mac | undefined
  /** When he was first asked since his last answer. */
  readonly unansweredSince: Millis | undefined
  readonly askedAt: Millis
  readonly patience: Millis
}
const NEW: Presence = {
  mac: undefined,
  unansweredSince: undefined,
  askedAt: millis(Number.NEGATIVE_INFINITY),
  patience: millis(Number.POSITIVE_INFINITY),
}

export type Caller = { readonly source: Address; readonly mac: Mac }

export class RollCall {
  readonly #presences = new Map<Address, Presence>()

  /** `interval`: between the advertisements of whoever has these peers; several may share one. */
  ask(peers: readonly Address[], { mac: ours, source }: Caller, interval: Millis, now: Millis): readonly Uint8Array[] {
    return peers.flatMap((peer) => {
      const before = this.#presences.get(peer) ?? NEW
      if (now - before.askedAt < SPACING) return []
      const { mac, patience, unansweredSince } = before
      this.#presences.set(peer, {
        mac,
        unansweredSince: unansweredSince ?? now,
        askedAt: now,
        patience: millis(Math.min(patience, interval * SILENCE)),
      })
      if (familyOf(peer) === 'ipv6') return [neighborSolicitation({ target: peer, source, mac: ours })]
      // Who is silent may have got another MAC.
      const whom = [
        ...(mac === undefined ? [] : [mac]),
        ...(mac !== undefined && unansweredSince === undefined ? [] : [BROADCAST_MAC]),
      ]
      return whom.map((to) => arpQuestion({ address: peer, source, mac: ours, to }))
    })
  }

  /** Undefined: nobody has asked for him. */
  hear(peer: Address, mac: Mac, heardAt: Millis): 'present' | 'back' | undefined {
    const presence = this.#presences.get(peer)
    if (presence === undefined) return undefined
    const { patience, unansweredSince } = presence
    this.#presences.set(peer, { ...presence, mac, unansweredSince: undefined })
    return unansweredSince !== undefined && heardAt - unansweredSince > patience ? 'back' : 'present'
  }

  clear(): void {
    this.#presences.clear()
  }
}
