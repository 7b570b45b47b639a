/**
 * Which routers have advertised for one VRID, what they said last, and the MAC that each was found to have: so that a
 * MAC which answers for our addresses has a name and a rank. Raw IP sockets tell no MAC; it comes from an answer to the
 * question who has the source address. Bounded, because sources can be invented. Refuses to know what is done with it.
 */
import type { DuplicateRival } from '../vrrp/duplicate.ts'
import type { Address } from '../wire/address.ts'
import type { Mac } from '../wire/mac.ts'
import type { Millis } from '../wire/units.ts'

/** The newest win: a flood of invented sources costs a name, never memory. */
const MOST_ROUTERS = 8
/** What somebody said longer ago says nothing about who would win now. */
const VALID_FOR = 600_000

/** Changed in place: an advertisement must not cost an allocation. */
type HeardRouter = { priority: number; heardAt: Millis; mac: Mac | undefined }

export class HeardRouters {
  readonly #routers = new Map<Address, HeardRouter>()
  /** What is at the virtual MAC of the VRID is whoever advertised last (RFC 9568 §7.3). */
  readonly #virtualMac: Mac

  constructor(virtualMac: Mac) {
    this.#virtualMac = virtualMac
  }

  /** An advertisement that has passed the checks of RFC 9568 §7.1; a release (0) leaves what was said before. */
  note(source: Address, priority: number, heardAt: Millis): void {
    const known = this.#routers.get(source)
    if (known === undefined) {
      if (priority > 0) this.#admit(source, { priority, heardAt, mac: undefined })
      return
    }
    if (priority > 0) known.priority = priority
    known.heardAt = heardAt
  }

  /** Somebody answered for this address. True: it is a router's, and its MAC is news. */
  name(address: Address, mac: Mac): boolean {
    const known = this.#routers.get(address)
    if (known === undefined || known.mac === mac) return false
    known.mac = mac
    return true
  }

  behind(mac: Mac, now: Millis): DuplicateRival | undefined {
    let found: (DuplicateRival & { readonly heardAt: Millis }) | undefined
    for (const [source, router] of this.#routers) {
      if (now - router.heardAt > VALID_FOR || (router.mac !== mac && mac !== this.#virtualMac)) continue
      if (found === undefined || router.heardAt > found.heardAt) found = { source, ...router }
    }
    return found === undefined ? undefined : { source: found.source, priority: found.priority }
  }

  /** Whom to ask for a MAC that nobody is known to have. */
  sources(now: Millis): readonly Address[] {
    return [...this.#routers].filter(([, { heardAt }]) => now - heardAt <= VALID_FOR).map(([source]) => source)
  }

  /** It is no reason for anything until it is heard again. */
  forget(source: Address): void {
    this.#routers.delete(source)
  }

  #admit(source: Address, router: HeardRouter): void {
    if (this.#routers.size >= MOST_ROUTERS) {
      const [oldest] = [...this.#routers].sort(([, one], [, other]) => one.heardAt - other.heardAt)
      if (oldest !== undefined) this.#routers.delete(oldest[0])
    }
    this.#routers.set(source, router)
  }
}
