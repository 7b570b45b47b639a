/**
 * Chooses the interface for the VIPs on this machine, and the own address that advertisements come from. First choice:
 * the file with the node's chosen address, if an interface has that address. Second: the network of the first VIP.
 * Third: the default route. With this order the choice follows an address from a NIC to a bridge, and no interface name
 * is stored. The returned value also says why earlier rules did not apply. No file is read here.
 */
import { familyName, sameNetwork } from '../../../config/network.ts'
import { type Address, addressBytes, type Family, familyOf, parseAddress } from '../../../wire/address.ts'
import { type NodeView, selectNodeAddresses } from '../node-ip/selection.ts'
import type { Network } from './peer-address.ts'

/** Files that `holdfast node-ip` writes (files.ts). */
export const ADDRESS_FILES: Readonly<Record<Family, string>> = {
  ipv4: '/run/nodeip-configuration/ipv4',
  ipv6: '/run/nodeip-configuration/ipv6',
}
/** Contents of the address files; `undefined` for a file that does not exist. */
export type AddressFiles = Readonly<Record<Family, string | undefined>>

export type Attachment = {
  readonly interface: string
  readonly source: Address
  readonly rule: 'file' | 'network' | 'defaultRoute'
  /**
   * Path of the file that contains the address `source`; `undefined` if another rule than `file` chose the interface.
   */
  readonly file: string | undefined
  /** Reasons why the earlier rules chose no interface. */
  readonly passedOver: readonly string[]
}

type Held = { readonly interface: string; readonly address: Address; readonly prefixLength: number }

/**
 * Returns the interface for the VRRP packets, or the reason why no interface fits. `pair`: one or two VIPs of one
 * family; the first VIP decides. `vips`: all VIPs of the cluster.
 */
export function vrrpInterface(
  node: NodeView,
  files: AddressFiles,
  pair: readonly Address[],
  vips: readonly Address[] = pair,
): Attachment | string {
  const [first] = pair
  if (first === undefined) return 'Cannot choose an interface: there are no VIPs'
  const passedOver: string[] = []
  const held = heldIn(node, vips)
  const byFile = inFile(files, first, vips, held)
  if (typeof byFile !== 'string') return { ...byFile, rule: 'file', file: ADDRESS_FILES[familyOf(first)], passedOver }
  passedOver.push(byFile)
  const byNetwork = inNetwork(node, pair, vips, held)
  if (byNetwork !== undefined) return { ...byNetwork, rule: 'network', file: undefined, passedOver }
  passedOver.push(`no interface has a network with ${first} in it`)
  const family = familyOf(first)
  // OpenShift prefers an IPv4 address here even for IPv6 VIPs, which cannot be advertised from it.
  const byRoute = chosen(node, held, [], vips, family)
  if (byRoute !== undefined) return { ...byRoute, rule: 'defaultRoute', file: undefined, passedOver }
  return `Cannot choose an interface for ${first}: ${passedOver.join('; ')}; no ${familyName(family)} address on an interface with a default route`
}

/**
 * Returns the network of this machine that contains a VIP; `undefined` if no network does. Addresses of peers are
 * compared with this network.
 */
export function machineNetwork(node: NodeView, vip: Address, vips: readonly Address[]): Network | undefined {
  const found = heldIn(node, vips).find((each) => contains(each, vip))
  return found && { address: found.address, prefixLength: widened(found) }
}

const heldIn = ({ links }: NodeView, vips: readonly Address[]): readonly Held[] =>
  links
    .toSorted((one, other) => one.index - other.index)
    .flatMap(({ name, addresses }) =>
      addresses.map(({ address, prefixLength }) => ({ interface: name, address, prefixLength })),
    )
    .filter(({ address }) => !vips.includes(address))

type Place = { readonly interface: string; readonly source: Address }

function inFile(files: AddressFiles, first: Address, vips: readonly Address[], held: readonly Held[]): Place | string {
  const family = familyOf(first)
  const text = files[family]?.trim()
  const file = ADDRESS_FILES[family]
  if (text === undefined || text === '') return `${file} contains no address`
  const named = parseAddress(text)
  if (named === undefined || familyOf(named) !== family)
    return `${file} contains "${text.slice(0, 60)}", expected an ${familyName(family)} address`
  if (vips.includes(named)) return `${file} contains ${named}, which is a VIP`
  const holder = held.find(({ address }) => address === named)
  if (holder === undefined) return `${file} contains ${named}, which no interface has`
  return { interface: holder.interface, source: named }
}

function inNetwork(
  node: NodeView,
  pair: readonly Address[],
  vips: readonly Address[],
  held: readonly Held[],
): Place | undefined {
  const [first] = pair
  if (first === undefined) return undefined
  const place = chosen(node, held, pair, vips, familyOf(first))
  // A VIP other than the first may have chosen the interface.
  const holder = held.find((each) => each.interface === place?.interface && each.address === place.source)
  return holder !== undefined && contains(holder, first) ? place : undefined
}

/**
 * Returns the interface whose networks contain the wanted addresses. Without wanted addresses, the interface of the
 * default route.
 */
function chosen(
  node: NodeView,
  held: readonly Held[],
  wanted: readonly Address[],
  vips: readonly Address[],
  family: Family,
): Place | undefined {
  const view = {
    ...node,
    links: node.links.map((link) => ({
      ...link,
      addresses: link.addresses.filter(({ address }) => !vips.includes(address)),
    })),
  }
  const { chosen: addresses, matches } = selectNodeAddresses(view, {
    hints: [],
    vips: wanted,
    preferIpv6: family === 'ipv6',
    ovn: true,
  })
  const source = addresses.find((address) => familyOf(address) === family)
  const holder = held.find(({ address }) => address === source)
  return source === undefined || holder === undefined || matches !== wanted.length > 0
    ? undefined
    : { interface: holder.interface, source }
}

/**
 * Returns the prefix length of the network of an address. A /128 address comes from DHCPv6, and only routers announce
 * its network; /64 is assumed.
 */
const widened = ({ address, prefixLength }: Held): number =>
  familyOf(address) === 'ipv6' && prefixLength === 128 ? 64 : prefixLength

const contains = (held: Held, vip: Address): boolean =>
  familyOf(held.address) === familyOf(vip) && sameNetwork(addressBytes(held.address), addressBytes(vip), widened(held))
