/**
 * The places beside a segment where its routers have addresses, too: an outpost for each, made when it is first needed,
 * closed when no router needs it any more. Decided here: which addresses of a router are at home on the segment. Refuses
 * to know what is asked, announced and heard elsewhere, which is the outpost's.
 */
import { type Address, type Family, familyOf } from '../../wire/address.ts'
import type { Base } from '../addresses/address-places.ts'
import type { Hears } from '../ports.ts'
import type { Tenant } from '../router-io.ts'
import type { Announcer } from './announcer.ts'
import { Outpost, type OutpostContext } from './outpost.ts'

/** The segment, as far as it matters here. */
type Home = Base & { readonly family: Family; readonly isOpen: boolean; readonly routers: ReadonlyMap<number, Tenant> }

export class Outposts {
  readonly #home: Home
  readonly #context: OutpostContext
  readonly #outposts = new Map<string, Outpost>()

  constructor(home: Home, context: Omit<OutpostContext, 'isVirtual'>) {
    this.#home = home
    const isVirtual = (address: Address) =>
      [...home.routers.values()].some(({ parameters }) => parameters.addresses.includes(address))
    this.#context = { ...context, isVirtual }
  }

  get all(): readonly Outpost[] {
    return [...this.#outposts.values()]
  }

  /** Beside that of the segment; asked at the end of every turn. */
  get announcers(): readonly Announcer[] {
    return this.#outposts.size === 0 ? NONE : this.all.map(({ announcer }) => announcer)
  }

  /** Those of the router that are at home; the others are given to where they are. */
  atHome(
    router: Tenant,
    addresses: readonly Address[],
    elsewhere: (outpost: Outpost, addresses: readonly Address[]) => void,
  ): readonly Address[] {
    const home = this.#home
    const away = new Map<Outpost, Address[]>()
    const here = addresses.filter((address) => {
      const place = router.places.at(address, home)
      if (place === undefined) return false
      const family = familyOf(address)
      if (family === home.family && place.interfaceIndex === home.interfaceIndex) return true
      const outpost = this.#at(place.interfaceIndex, family)
      if (outpost !== undefined) away.set(outpost, [...(away.get(outpost) ?? []), address])
      return false
    })
    for (const [outpost, those] of away) elsewhere(outpost, those)
    return here
  }

  /** One for each place where a router has an address, and no other. */
  listen(hears: Hears): void {
    const needed = new Set<Outpost>()
    for (const router of this.#home.routers.values())
      this.atHome(router, router.parameters.addresses, (outpost) => needed.add(outpost))
    for (const [key, outpost] of this.#outposts) {
      if (needed.has(outpost)) outpost.listen(hears)
      else {
        outpost.close()
        this.#outposts.delete(key)
      }
    }
  }

  close(): void {
    for (const outpost of this.#outposts.values()) outpost.close()
    this.#outposts.clear()
  }

  #at(interfaceIndex: number, family: Family): Outpost | undefined {
    const key = `${interfaceIndex} ${family}`
    const known = this.#outposts.get(key)
    const link = this.#context.view.link(interfaceIndex)
    if (known !== undefined || link === undefined || !this.#home.isOpen) return known
    const outpost = new Outpost(link, family, this.#context)
    this.#outposts.set(key, outpost)
    return outpost
  }
}

const NONE: readonly Announcer[] = []
