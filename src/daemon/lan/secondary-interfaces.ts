/**
 * Keeps the secondary interfaces of a segment. A secondary interface is created when a router first needs it, and
 * closed when no router needs it. This file decides which addresses of a router belong to the segment itself. For all
 * other addresses, secondary-interface.ts announces and receives the answers.
 */
import { type Address, type Family, familyOf } from '../../wire/address.ts'
import type { Base } from '../addresses/address-places.ts'
import type { Hears } from '../ports.ts'
import type { HostedRouter } from '../router/router-io.ts'
import type { Announcer } from './announcer.ts'
import { type SecondaryContext, SecondaryInterface } from './secondary-interface.ts'

/** The fields of the segment that secondary interfaces use. */
type Home = Base & {
  readonly family: Family
  readonly isOpen: boolean
  readonly routers: ReadonlyMap<number, HostedRouter>
}

export class SecondaryInterfaces {
  readonly #home: Home
  readonly #context: SecondaryContext
  readonly #interfaces = new Map<string, SecondaryInterface>()

  constructor(home: Home, context: Omit<SecondaryContext, 'isVirtual'>) {
    this.#home = home
    const isVirtual = (address: Address) =>
      [...home.routers.values()].some(({ parameters }) => parameters.addresses.includes(address))
    this.#context = { ...context, isVirtual }
  }

  get all(): readonly SecondaryInterface[] {
    return [...this.#interfaces.values()]
  }

  /** Announcers of all secondary interfaces. The list is stored, because every turn reads it. */
  get announcers(): readonly Announcer[] {
    return this.#interfaces.size === 0 ? NONE : this.all.map(({ announcer }) => announcer)
  }

  /**
   * Returns the router's addresses on the interface of the segment. Passes the other addresses to the secondary
   * interfaces on which they are installed.
   */
  onSegment(
    router: HostedRouter,
    addresses: readonly Address[],
    elsewhere: (secondary: SecondaryInterface, addresses: readonly Address[]) => void,
  ): readonly Address[] {
    const home = this.#home
    const away = new Map<SecondaryInterface, Address[]>()
    const here = addresses.filter((address) => {
      const place = router.places.at(address, home)
      if (place === undefined) return false
      const family = familyOf(address)
      if (family === home.family && place.interfaceIndex === home.interfaceIndex) return true
      const secondary = this.#at(place.interfaceIndex, family)
      if (secondary !== undefined) away.set(secondary, [...(away.get(secondary) ?? []), address])
      return false
    })
    for (const [secondary, those] of away) elsewhere(secondary, those)
    return here
  }

  /** Sets which frames each secondary interface receives. Closes secondary interfaces without addresses. */
  listen(hears: Hears): void {
    const needed = new Set<SecondaryInterface>()
    for (const router of this.#home.routers.values())
      this.onSegment(router, router.parameters.addresses, (secondary) => needed.add(secondary))
    for (const [key, secondary] of this.#interfaces) {
      if (needed.has(secondary)) secondary.listen(hears)
      else {
        secondary.close()
        this.#interfaces.delete(key)
      }
    }
  }

  close(): void {
    for (const secondary of this.#interfaces.values()) secondary.close()
    this.#interfaces.clear()
  }

  #at(interfaceIndex: number, family: Family): SecondaryInterface | undefined {
    const key = `${interfaceIndex} ${family}`
    const known = this.#interfaces.get(key)
    const link = this.#context.view.link(interfaceIndex)
    if (known !== undefined || link === undefined || !this.#home.isOpen) return known
    const secondary = new SecondaryInterface(link, family, this.#context)
    this.#interfaces.set(key, secondary)
    return secondary
  }
}

const NONE: readonly Announcer[] = []
