/**
 * Links and addresses of this node as the kernel last reported them, so that a takeover need not ask the kernel. On a
 * Kubernetes node with thousands of service addresses, a dump of all addresses takes longer than a takeover. The view
 * does not know virtual routers.
 */
import { type Address, type Family, familyOf } from '../../wire/address.ts'
import type { Link, NetworkEvent, NetworkPort, PresentAddress, WantedAddress } from '../ports.ts'

const keyOf = ({ interfaceIndex, address, prefixLength }: WantedAddress) =>
  `${interfaceIndex} ${address}/${prefixLength}`

export class NetworkView {
  readonly #links = new Map<number, Link>()
  /**
   * Index of the interface that was last reported with a name. A new interface may be reported before the end of an old
   * interface with the same name.
   */
  readonly #named = new Map<string, number>()
  readonly #addresses = new Map<number, Map<string, PresentAddress>>()
  readonly #byAddress = new Map<Address, PresentAddress[]>()

  /** Reads all links and addresses from the kernel, at the start and after lost notifications. */
  load(port: Pick<NetworkPort, 'links' | 'addresses'>): void {
    const [links, addresses] = [port.links(), port.addresses()]
    if (links !== undefined) {
      this.#links.clear()
      this.#named.clear()
      for (const link of links) this.#setLink(link)
    }
    if (addresses !== undefined) {
      this.#addresses.clear()
      this.#byAddress.clear()
      for (const present of addresses) this.#add(present)
    }
  }

  /** Applies a notification of the kernel. The caller handles `resync`, which needs the network port. */
  apply(event: NetworkEvent): void {
    switch (event.kind) {
      case 'link':
        this.#setLink(event.link)
        return
      case 'linkGone':
        this.#forgetName(event.index)
        this.#links.delete(event.index)
        for (const present of [...(this.#addresses.get(event.index)?.values() ?? [])]) this.#remove(present)
        return
      case 'addressAdded':
        this.#add(event.present)
        return
      case 'addressRemoved':
        this.#remove(event.present)
        return
      case 'resync':
        return
    }
  }

  link(index: number): Link | undefined {
    return this.#links.get(index)
  }

  linkNamed(name: string): Link | undefined {
    const index = this.#named.get(name)
    return index === undefined ? undefined : this.#links.get(index)
  }

  /**
   * Returns the links, except a link whose name another link has now. The report of its end or new name is still to
   * come.
   */
  links(): Link[] {
    return [...this.#links.values()].filter(({ index, name }) => this.#named.get(name) === index)
  }

  /** Returns every interface and prefix length with which the node has this address. */
  where(address: Address): readonly PresentAddress[] {
    return this.#byAddress.get(address) ?? []
  }

  on(index: number, family: Family): PresentAddress[] {
    const here = this.#addresses.get(index)?.values() ?? []
    return [...here].filter((present) => familyOf(present.address) === family)
  }

  /** Tells whether the address is installed, and the kernel has finished duplicate address detection for it. */
  canSendFrom(index: number, address: Address): boolean {
    return (this.#byAddress.get(address) ?? []).some(
      ({ interfaceIndex, tentative }) => interfaceIndex === index && !tentative,
    )
  }

  isOn(index: number, address: Address): boolean {
    return (this.#byAddress.get(address) ?? []).some(({ interfaceIndex }) => interfaceIndex === index)
  }

  /** Tells whether the address is installed with this prefix on this interface. */
  has(wanted: WantedAddress): boolean {
    return this.#addresses.get(wanted.interfaceIndex)?.has(keyOf(wanted)) === true
  }

  /** Tells whether the kernel has reported the address with the same flags before. */
  knows(present: PresentAddress): boolean {
    const known = this.#addresses.get(present.interfaceIndex)?.get(keyOf(present))
    return known?.flags !== undefined && known.flags === present.flags
  }

  #setLink(link: Link): void {
    this.#forgetName(link.index)
    this.#links.set(link.index, link)
    this.#named.set(link.name, link.index)
  }

  #forgetName(index: number): void {
    const name = this.#links.get(index)?.name
    if (name === undefined || this.#named.get(name) !== index) return
    this.#named.delete(name)
    // A notification from before the last full read may have hidden the interface that has this name now.
    for (const other of this.#links.values())
      if (other.index !== index && other.name === name) this.#named.set(name, other.index)
  }

  #add(present: PresentAddress): void {
    this.#remove(present)
    const here = this.#addresses.get(present.interfaceIndex) ?? new Map<string, PresentAddress>()
    this.#addresses.set(present.interfaceIndex, here.set(keyOf(present), present))
    this.#byAddress.set(present.address, [...(this.#byAddress.get(present.address) ?? []), present])
  }

  #remove(present: PresentAddress): void {
    const key = keyOf(present)
    const here = this.#addresses.get(present.interfaceIndex)
    if (here?.delete(key) !== true) return
    if (here.size === 0) this.#addresses.delete(present.interfaceIndex)
    const rest = (this.#byAddress.get(present.address) ?? []).filter((other) => keyOf(other) !== key)
    if (rest.length > 0) this.#byAddress.set(present.address, rest)
    else this.#byAddress.delete(present.address)
  }
}

/**
 * Tells whether two states of an interface are the same for the daemon. The kernel also reports changes (of statistics,
 * of neighbours) that the daemon ignores.
 */
export const isSameLink = (a: Link | undefined, b: Link | undefined): boolean =>
  a?.name === b?.name &&
  a?.up === b?.up &&
  a?.running === b?.running &&
  a?.mac === b?.mac &&
  a?.mtu === b?.mtu &&
  a?.portOf === b?.portOf

/** Tells whether the interface is administratively up and has carrier (VR-TRK-10). */
export const isUp = (link: Link | undefined): boolean => link?.up === true && link.running
