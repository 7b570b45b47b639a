/**
 * What the configuration needs to know of the node it runs on: names and addresses of its interfaces, as values, and
 * the questions that networks answer. IPv4 in this version. This file does not know how the node was looked at.
 */
import { type Address, familyOf } from '../wire/address.ts'
import { type NetworkAddress, networkNumber } from './field.ts'

export type NodeAddress = { readonly address: Address; readonly prefixLength: number }
export type NodeInterface = { readonly name: string; readonly addresses: readonly NodeAddress[] }
export type NodeView = { readonly interfaces: readonly NodeInterface[] }

export const ipv4Addresses = (of: NodeInterface): readonly NodeAddress[] =>
  of.addresses.filter(({ address }) => familyOf(address) === 'ipv4')

/** Is `address` in the network that `member` with its prefix belongs to? */
export function sameNetwork(member: Address, prefixLength: number, address: Address): boolean {
  const size = 2 ** (32 - prefixLength)
  return Math.floor(networkNumber(member) / size) === Math.floor(networkNumber(address) / size)
}

/** A prefix written with the VIP selects the network; without one the node's own prefixes do. */
export function servesNetworkOf(own: NodeAddress, vip: NetworkAddress): boolean {
  return sameNetwork(own.address, vip.prefixLength ?? own.prefixLength, vip.address)
}
