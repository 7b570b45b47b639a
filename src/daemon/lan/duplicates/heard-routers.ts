/**
 * Remembers the routers that have advertised for one VRID, or are listed as its peers: their last advertisement, and
 * their MAC. With this list a MAC that answers for our addresses can be shown with its router and priority. Raw IP
 * sockets report no MAC. The MAC is learned from an ARP or NDP answer for the router's source address. The number of
 * routers is limited, because a sender can forge source addresses.
 */
import type { Address } from '../../../wire/address.ts'
import type { Mac } from '../../../wire/mac.ts'
import type { Millis } from '../../../wire/units.ts'

/**
 * Number of routers that are remembered, the newest ones. A flood of forged source addresses may push a router out, but
 * uses no more memory.
 */
const MOST_ROUTERS = 8
/** Milliseconds for which an advertised priority counts. An older priority does not show which router would win now. */
const VALID_FOR = 600_000

/**
 * A router by its source address. `priority` is `undefined` if the router did not advertise, or not for a long time.
 */
export type NamedRouter = { readonly source: Address; readonly priority: number | undefined }

/** An entry about a router. The entry is changed, not replaced, because an advertisement must not allocate memory. */
type HeardRouter = { priority: number; heardAt: Millis }

export class HeardRouters {
  readonly #heard = new Map<Address, HeardRouter>()
  readonly #macs = new Map<Address, Mac>()
  /** Virtual MAC of the VRID. The host with this MAC is the router that advertised last (RFC 9568 §7.3). */
  readonly #virtualMac: Mac

  constructor(virtualMac: Mac) {
    this.#virtualMac = virtualMac
  }

  /**
   * Notes an advertisement that has passed the checks of RFC 9568 §7.1. Priority 0 does not change the last priority.
   */
  note(source: Address, priority: number, heardAt: Millis): void {
    const known = this.#heard.get(source)
    if (known === undefined) {
      if (priority > 0) this.#admit(source, { priority, heardAt })
      return
    }
    if (priority > 0) known.priority = priority
    known.heardAt = heardAt
  }

  /** Notes that a host answered for this address. Returns true if the host is a router and its MAC is new. */
  name(address: Address, mac: Mac, peers: readonly Address[]): boolean {
    if (this.#macs.get(address) === mac) return false
    if (!this.#heard.has(address) && !peers.includes(address)) return false
    this.#macs.set(address, mac)
    for (const source of this.#macs.keys()) {
      if (!this.#heard.has(source) && !peers.includes(source)) this.#macs.delete(source)
    }
    return true
  }

  /** Tells whether the MAC belongs to a router. An election then decides between that router and this one. */
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

  /**
   * Returns the time of the last advertisement of the router with this source address; `undefined` if that router has
   * not advertised.
   */
  heardAt(source: Address): Millis | undefined {
    return this.#heard.get(source)?.heardAt
  }

  /** Returns the source addresses of the routers that may have an unknown MAC. */
  sources(peers: readonly Address[]): readonly Address[] {
    return [...new Set([...this.#heard.keys(), ...peers.slice(0, MOST_ROUTERS)])]
  }

  /** Forgets a router until it advertises again. */
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
