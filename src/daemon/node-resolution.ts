/**
 * Finds the interface and the source address of each configured router, from the present interfaces, addresses and
 * address files of this node. This file decides which addresses count as the node's own, and which network changes can
 * matter. This file knows nothing about running routers and sockets.
 */
import type { Config } from '../config/config.ts'
import { holdingOf, nameOfInterface } from '../config/holding.ts'
import type { NodeView } from '../config/node-view.ts'
import { type ResolvedRouter, resolveRouters } from '../config/resolve.ts'
import { interfacesIn } from '../config/schema/track.ts'
import { otherInterfaces } from '../config/schema/virtual-address.ts'
import type { Address } from '../wire/address.ts'
import type { AddressFiles } from './addresses/address-files.ts'
import type { NetworkView } from './addresses/network-view.ts'
import { ownedAddresses, virtualAddresses } from './addresses/sweep.ts'

export class NodeResolution {
  #config: Config
  readonly #view: NetworkView
  readonly #files: AddressFiles
  /** Interfaces whose changes can matter to a router; `undefined` means all, because of `interface: auto`. */
  #interfaces: ReadonlySet<string> | undefined
  /** Addresses that the configuration names in `interface: { holding: … }`, whose interfaces routers follow. */
  #followed: readonly Address[]
  /**
   * VIPs that a reload removed and that are still installed. A removed VIP is neither a source address nor a reason to
   * choose an interface.
   */
  readonly #retired = new Set<Address>()

  constructor(config: Config, view: NetworkView, files: AddressFiles) {
    this.#config = config
    this.#view = view
    this.#files = files
    this.#interfaces = interfacesOf(config)
    this.#followed = followedIn(config)
  }

  resolve(): readonly ResolvedRouter[] {
    return resolveRouters(this.#config, this.#nodeView(this.#retired)).routers
  }

  /**
   * Returns the node's interfaces and addresses for the check of a new configuration, without the addresses that the
   * present configuration installs.
   */
  nodeView(): NodeView {
    return this.#nodeView(new Set([...this.#retired, ...virtualAddresses(this.#config)]))
  }

  /** Adopts the configuration of a reload. */
  reconfigure(next: Config): void {
    const vips = virtualAddresses(next)
    for (const address of virtualAddresses(this.#config)) if (!vips.has(address)) this.#retired.add(address)
    for (const address of [...vips, ...ownedAddresses(next)]) this.#retired.delete(address)
    this.#config = next
    this.#interfaces = interfacesOf(next)
    this.#followed = followedIn(next)
  }

  /**
   * Tells whether a change of this interface, or of this address on the interface, can change the interface or source
   * address of a router. A Kubernetes node has hundreds of interfaces that appear and disappear, and each new
   * resolution costs time.
   */
  matters(interfaceName: string | undefined, address: Address | undefined): boolean {
    if (this.#interfaces === undefined || interfaceName === undefined || this.#interfaces.has(interfaceName))
      return true
    for (const followed of this.#followedNow()) {
      if (followed === address) return true
      const places = this.#view.where(followed)
      if (places.some((place) => this.#view.link(place.interfaceIndex)?.name === interfaceName)) return true
    }
    return false
  }

  *#followedNow(): Generator<Address> {
    yield* this.#followed
    for (const { inForce, reading } of this.#files.named.values()) {
      if ('address' in reading) yield reading.address
      if (inForce !== undefined) yield inForce
    }
  }

  #nodeView(without: ReadonlySet<Address>): NodeView {
    const view = this.#view
    for (const address of this.#retired) if (view.where(address).length === 0) this.#retired.delete(address)
    const interfaces = view.links().map(({ index, name, mtu, portOf }) => {
      const addresses = [...view.on(index, 'ipv4'), ...view.on(index, 'ipv6')]
      return { name, mtu, portOf, addresses: addresses.filter(({ address }) => !without.has(address)) }
    })
    if (this.#files.named.size > 0) this.#settleFiles()
    return { interfaces, files: this.#files.named }
  }

  #settleFiles(): void {
    const virtual = virtualAddresses(this.#config)
    const isOwn = (address: Address) => !virtual.has(address) && !this.#retired.has(address)
    this.#files.settle((address) => isOwn(address) && this.#view.where(address).length > 0)
  }
}

/** Returns the interfaces whose changes can matter to a router; `undefined` means all. */
function interfacesOf({ virtualRouters, syncGroups }: Config): ReadonlySet<string> | undefined {
  const tracked = [...virtualRouters, ...syncGroups].flatMap(({ track }) =>
    interfacesIn(track).map((tracker) => tracker.interface),
  )
  if (virtualRouters.some((router) => router.interface === 'auto')) return undefined
  const named = virtualRouters.flatMap((router) => [nameOfInterface(router) ?? [], otherInterfaces(router)].flat())
  return new Set([...named, ...tracked])
}

const followedIn = ({ virtualRouters }: Config): readonly Address[] =>
  virtualRouters.flatMap((router) => {
    const holding = holdingOf(router)
    return holding !== undefined && 'address' in holding ? holding.address : []
  })

/**
 * Returns the interface on which the router should run. A router stays where it is (`here`) if `auto` is no longer
 * unique because a second interface joined the network. A router also stays if the address that it follows (`holding`)
 * is on two interfaces, or on no interface.
 */
export function interfaceFor({ held, interfaceName }: ResolvedRouter, here: string | undefined): string | undefined {
  if (here !== undefined && held?.on.includes(here)) return here
  return interfaceName ?? here
}
