/**
 * Routers that have advertised for one VRID, or are listed as its peers: their last advertisement, and the MAC that each was
 * found to have, so that a MAC which answers for our addresses has a name and a rank. Raw IP sockets report no MAC; it comes
 * from an answer to the question for the source address. Bounded, because sources can be invented. Refuses to know what a
 * name is for.
 */
import type { Address } from '../../../wire/address.ts'
import type { Mac } from '../../../wire/mac.ts'
import type { Millis } from '../../../wire/units.ts'

/** Routers remembered, the newest ones: a flood of invented sources costs a name, never memory. */
const MOST_ROUTERS = 8
/** Milliseconds for which an advertised priority counts: an older one does not show which router would win now. */
const VALID_FOR = 600_000

/** A router by its source address. Without a priority it was not heard, or too long ago. */
export type NamedRouter = { readonly source: Address; readonly priority: number | undefined }

/** Changed in place: an advertisement must not cost an allocation. */
type HeardRouter = { priority: number; heardAt: Millis }

export class HeardRouters {
  readonly #heard = new Map<Address, HeardRouter>()
  readonly #macs = new Map<Address, Mac>()
  /** The host at the virtual MAC of the VRID is the router that advertised last (RFC 9568 §7.3). */
  readonly #virtualMac: Mac

  constructor(virtualMac: Mac) {
    this.#virtualMac = virtualMac
  }

  /** An advertisement that has passed the checks of RFC 9568 §7.1. A release (0) leaves the last priority. */
  note(source: Address, priority: number, heardAt: Millis): void {
    const known = this.#heard.get(source)
    if (known === undefined) {
      if (priority > 0) this.#admit(source, { priority, heardAt })
      return
    }
    if (priority > 0) known.priority = priority
    known.heardAt = heardAt
  }

  /** A host answered for this address. Returns true if it is a router's, and the MAC is news. */
  name(address: Address, mac: Mac, peers: readonly Address[]): boolean {
    if (this.#macs.get(address) === mac) return false
    if (!this.#heard.has(address) && !peers.includes(address)) return false
    this.#macs.set(address, mac)
    for (const source of this.#macs.keys()) {
      if (!this.#heard.has(source) && !peers.includes(source)) this.#macs.delete(source)
    }
    return true
  }

  /** Reports whether the MAC is that of a router: then an election decides between us. */
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

  /** Returns the time of its last advertisement; `undefined` if there was none. */
  heardAt(source: Address): Millis | undefined {
    return this.#heard.get(source)?.heardAt
  }

  /** Returns the routers that may be behind a MAC without a name. */
  sources(peers: readonly Address[]): readonly Address[] {
    return [...new Set([...this.#heard.keys(), ...peers.slice(0, MOST_ROUTERS)])]
  }

  /** Forgets a router until it is heard again. */
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
