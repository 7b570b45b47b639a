/**
 * The VIPs of a cluster as pairs: the first VIP of the API belongs to the first of ingress, and so on. Each address has
 * the prefix length of its own family. (OpenShift uses the API's address for both; an ingress VIP without an API VIP is
 * always /128 there.) This file decides which lists are no valid pairs.
 */
import { refusedValue } from '../../../base/refused-value.ts'
import { familyName } from '../../../config/network.ts'
import { type Address, type Family, familyOf, isLinkLocal, isMulticast, parseAddress } from '../../../wire/address.ts'
import type { Service } from './vrid.ts'

export type VipPair = {
  /** Number of the pair of VIPs, from 0. The number of the pair is the last part of a virtual router's name. */
  readonly index: number
  /** Address family of both VIPs of the pair. */
  readonly family: Family
  readonly api: Address | undefined
  readonly ingress: Address | undefined
}

/** The pairs of VIPs, or all problems of the lists. */
export type VipPairs = { readonly pairs: readonly VipPair[]; readonly problems: readonly string[] }

type VipLists = Readonly<Record<Service, readonly string[]>>

/** Returns the VIPs as pairs, or the problems of the lists. */
export function vipPairs(lists: VipLists): VipPairs {
  const { api, ingress } = lists
  const problems = [...vipProblems('API', api), ...vipProblems('ingress', ingress), ...twice([...api, ...ingress])]
  const pairs = Array.from({ length: Math.max(api.length, ingress.length) }, (_, index) => {
    const both = { api: vipIn(api[index]), ingress: vipIn(ingress[index]) }
    const [first, second] = [both.api, both.ingress].filter((vip) => vip !== undefined).map(familyOf)
    if (first !== undefined && second !== undefined && first !== second)
      problems.push(
        `The VIPs ${both.api} and ${both.ingress} are a pair (both number ${index + 1}), but their families differ`,
      )
    return { index, family: first ?? 'ipv4', ...both }
  })
  return problems.length > 0 ? { pairs: [], problems } : { pairs, problems }
}

/** Returns all VIPs of all pairs. A node never has a VIP as its own address. */
export const allVips = (pairs: readonly VipPair[]): readonly Address[] =>
  pairs.flatMap(({ api, ingress }) => [api ?? [], ingress ?? []].flat())

const vipIn = (word: string | undefined): Address | undefined => (word === undefined ? undefined : parseAddress(word))

function vipProblems(service: string, words: readonly string[]): string[] {
  const families = new Set<Family>()
  return words.flatMap((word) => {
    const vip = parseAddress(word)
    if (vip === undefined) return [refusedValue(`VIP of ${service}`, word, 'an IP address')]
    const kind = kindOf(vip)
    if (kind !== undefined) return [`Cannot use ${vip} as VIP of ${service}: it is ${kind}`]
    const family = familyOf(vip)
    // A second VIP of the same service and family is refused, because both VIPs would have the same VRID.
    if (families.has(family))
      return [`Cannot use ${vip} as VIP of ${service}: this service has another ${familyName(family)} VIP`]
    families.add(family)
    return []
  })
}

/** Returns the kind of an address that no host of a LAN can have as its own; `undefined` for any other address. */
export function kindOf(address: Address): string | undefined {
  if (address === '0.0.0.0' || address === '::') return 'the unspecified address'
  if (address.startsWith('127.') || address === '::1') return 'a loopback address'
  if (isMulticast(address)) return 'a multicast address'
  if (isLinkLocal(address)) return 'link-local'
  return undefined
}

function twice(words: readonly string[]): string[] {
  const vips = words.flatMap((word) => vipIn(word) ?? [])
  const again = vips.filter((vip, i) => vips.indexOf(vip) !== i)
  return [...new Set(again)].map((vip) => `The VIP ${vip} is listed twice: a VIP belongs to one virtual router`)
}
