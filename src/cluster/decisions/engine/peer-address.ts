/**
 * Finds the address of a node as a peer: its own address in the family of the VIPs, otherwise an address that
 * OVN-Kubernetes has stored in the network of the VIPs. A VIP is never an own address, whichever node reports it. If
 * the node has no such address, the reason is returned. (OpenShift uses an empty peer in this case.)
 */
import { familyName, sameNetwork } from '../../../config/network.ts'
import { type Address, addressBytes, type Family, familyOf, parseAddress } from '../../../wire/address.ts'
import type { ClusterNode } from '../cluster-node.ts'
import { HOST_ADDRESSES } from './upstream-names.ts'
import { kindOf } from './vip-pairs.ts'

export type Network = { readonly address: Address; readonly prefixLength: number }

export type PeerWishes = {
  readonly family: Family
  /** VIPs of the whole cluster. */
  readonly vips: readonly Address[]
  /** Network of this machine that contains the VIPs; `undefined` if no network of the machine contains them. */
  readonly network: Network | undefined
  /** This machine's own address for VRRP. The node in the API with this address is this node. */
  readonly own: Address | undefined
}

/** Address of a node as a peer. `odd`: texts about addresses that were skipped, also if another address was found. */
export type PeerAddress = { readonly address: Address | undefined; readonly odd: readonly string[] }

/** Returns the address of a node as a peer. */
export function peerAddress(node: ClusterNode, wishes: PeerWishes): PeerAddress {
  const odd: string[] = []
  const usable = (text: string, from: string): Address[] => {
    const found = parseAddress(text)
    const why = found === undefined ? 'no IP address' : unfit(found, wishes.vips)
    if (why !== undefined) odd.push(`${from} "${text}" is ${why}`)
    return found === undefined || why !== undefined || familyOf(found) !== wishes.family ? [] : [found]
  }
  const reported = node.addresses
    .filter(({ type }) => type === 'InternalIP')
    .flatMap(({ address }) => usable(address, 'InternalIP'))
  // If no network of this machine contains the VIPs, the first reported address is used, as in OpenShift.
  const address =
    wishes.network === undefined ? reported[0] : (reported.at(-1) ?? notedAddress(node, wishes, usable, odd))
  if (address === undefined) odd.push(`no usable ${familyName(wishes.family)} address`)
  return { address, odd }
}

const unfit = (found: Address, vips: readonly Address[]): string | undefined =>
  vips.includes(found) ? 'a VIP' : kindOf(found)

type Usable = (text: string, from: string) => Address[]

/**
 * Returns an address from the annotation of OVN-Kubernetes. The annotation lists all addresses of the node, including
 * VIPs that the node holds.
 */
function notedAddress(node: ClusterNode, wishes: PeerWishes, usable: Usable, odd: string[]): Address | undefined {
  const { own, network, vips } = wishes
  const key = HOST_ADDRESSES.find((name) => node.annotations[name] !== undefined)
  if (key === undefined || network === undefined) return undefined
  const listed = textsIn(node.annotations[key] ?? '')
  if (listed === undefined) {
    odd.push(`annotation ${key} is not a JSON list of addresses`)
    return undefined
  }
  const fits = listed
    .map((entry) => entry.replace(/\/\d+$/, ''))
    .filter((text) => !vips.some((vip) => vip === parseAddress(text)))
    .flatMap((text) => usable(text, key))
  if (own !== undefined && fits.includes(own)) return own
  const octets = addressBytes(network.address)
  return fits.find((each) => sameNetwork(addressBytes(each), octets, network.prefixLength))
}

function textsIn(json: string): readonly string[] | undefined {
  try {
    const value: unknown = JSON.parse(json)
    return Array.isArray(value) && value.every((entry) => typeof entry === 'string') ? value : undefined
  } catch {
    return undefined
  }
}
