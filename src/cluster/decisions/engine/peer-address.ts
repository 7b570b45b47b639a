/**
 * Under which address a node is a peer: what it reports as its own in the family of the VIPs, else what OVN-Kubernetes has
 * noted of it in the network of the VIPs. A VIP is nobody's own address, whoever reports it. There is none: that is an
 * answer with its reason. (Upstream has an empty peer then.) Refuses to know other nodes and earlier answers.
 */
import { familyName, sameNetwork } from '../../../config/network.ts'
import { type Address, addressBytes, type Family, familyOf, parseAddress } from '../../../wire/address.ts'
import type { ClusterNode } from '../cluster-node.ts'
import { HOST_ADDRESSES } from './upstream-words.ts'
import { kindOf } from './vip-pairs.ts'

export type Network = { readonly address: Address; readonly prefixLength: number }

export type PeerWishes = {
  readonly family: Family
  /** Of the whole cluster. */
  readonly vips: readonly Address[]
  /** The one of this machine that the VIPs are in. Undefined: in none of its networks. */
  readonly network: Network | undefined
  /** This machine's own address for VRRP: a node that lists it is this one. */
  readonly own: Address | undefined
}

/** `odd`: what was passed over on the way, in words; also when an address was found. */
export type PeerAddress = { readonly address: Address | undefined; readonly odd: readonly string[] }

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
  // As upstream has it: without a network to compare with, the node's first word is as good as any.
  const address =
    wishes.network === undefined ? reported[0] : (reported.at(-1) ?? notedAddress(node, wishes, usable, odd))
  if (address === undefined) odd.push(`no address of ${familyName(wishes.family)} that could be a peer`)
  return { address, odd }
}

const unfit = (found: Address, vips: readonly Address[]): string | undefined =>
  vips.includes(found) ? 'a VIP' : kindOf(found)

type Usable = (text: string, from: string) => Address[]

/** Of all addresses that the node has, VIPs that it holds among them: those are no news. */
function notedAddress(node: ClusterNode, wishes: PeerWishes, usable: Usable, odd: string[]): Address | undefined {
  const { own, network, vips } = wishes
  const key = HOST_ADDRESSES.find((name) => node.annotations[name] !== undefined)
  if (key === undefined || network === undefined) return undefined
  const listed = textsIn(node.annotations[key] ?? '')
  if (listed === undefined) {
    odd.push(`annotation ${key} is no JSON list of addresses`)
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
