/**
 * Which routers have advertised for one VRID, or are listed as its peers, what they said last, and the MAC that each was
 * found to have: so that a MAC which answers for our addresses has a name and a rank. Raw IP sockets tell no MAC; it
 * comes from an answer to the question who has the source address. Bounded, because sources can be invented. Refuses to
 * know what is done with it.
 */
import type { Address } from '../../wire/address.ts'
import type { Mac } from '../../wire/mac.ts'
import type { Millis } from '../../wire/units.ts'

/** The newest win: a flood of invented sources costs a name, never memory. */
const MOST_ROUTERS = 8
/** What somebody said longer ago says nothing about who would win now. */
const VALID_FOR = 600_000

/** A router by its source address; without priority it was not heard, or too long ago. */
export type NamedRouter = { readonly source: Address; readonly priority: number | undefined }

/** Changed in place: an advertisement must not cost an allocation. */
type HeardRouter = { priority: number; heardAt: Millis }

export class HeardRouters {
  readonly #heard = new Map<Address, HeardRouter>()
  readonly #macs = new Map<Address, Mac>()
  /** What is at the virtual MAC of the VRID is whoever advertised last (RFC 9568 §7.3). */
  readonly #virtualMac: Mac

  constructor(virtualMac: Mac) {
    this.#virtualMac = virtualMac
  }

  /** An advertisement that has passed the checks of RFC 9568 §7.1; a release (0) leaves what was said before. */
  note(source: Address, priority: number, heardAt: Millis): void {
    const known = this.#heard.get(source)
    if (known === undefined) {
      if (priority > 0) this.#admit(source, { priority, heardAt })
      return
    }
    if (priority > 0) known.priority = priority
    known.heardAt = heardAt
  }

  /** Somebody answered for this address. True: it is a router's, and its MAC is news. */
  name(address: Address, mac: Mac, peers: readonly Address[]): boolean {
    if (this.#macs.get(address) === mac) return false
    if (!this.#heard.has(address) && !peers.includes(address)) return false
    this.#macs.set(address, mac)
    for (const source of this.#macs.keys()) {
      if (!this.#heard.has(source) && !peers.includes(source)) this.#macs.delete(source)
    }
    return true
  }

  /** It is one of them, whichever: an election decides between us. */
  isRouter(mac: Mac, now: Millis): boolean {
    return mac === this.#virtualMac || this.behind(mac, now) !== undefined
  }

  behind(mac: Mac, now: Millis): NamedRouter | undefined {
    const sources = mac === this.#virtualMac ? [...this.#heard.keys()] : this.#sourcesAt(mac)
    const [latest] = sources.sort((one, other) => this.#heardAt(other) - this.#heardAt(one))
    if (latest === undefined) return undefined
    const isValid = now - this.#heardAt(latest) <= VALID_FOR
    return { source: latest, priority: isValid ? this.#heard.get(latest)?.priority : undefined }
  }

  /** When it was heard last; `undefined`: never. */
  heardAt(source: Address): Millis | undefined {
    return this.#heard.get(source)?.heardAt
  }

  /** Whom to ask for a MAC that nobody is known to have. */
  sources(peers: readonly Address[]): readonly Address[] {
    return [...new Set([...this.#heard.keys(), ...peers.slice(0, MOST_ROUTERS)])]
  }

  /** It is no reason for anything until it is heard again. */
  forget(source: Address): void {
    this.#heard.delete(source)
    this.#macs.delete(source)
  }

  #sourcesAt(mac: Mac): Address[] {
    return [...this.#macs].flatMap(([source, at]) => (at === mac ? [source] : []))
  }

  #heardAt(source: Address): number {
    return this.#heard.get(source)?.heardAt ?? Number.NEGATIVE_INFINITY
  }

  #admit(source: Address, router: HeardRouter): void {
    if (this.#heard.size >= MOST_ROUTERS) {
      const [oldest] = [...this.#heard].sort(([, one], [, other]) => one.heardAt - other.heardAt)
      if (oldest !== undefined) this.forget(oldest[0])
    }
    this.#heard.set(source, router)
  }
}
