/**
 * The VIPs of a cluster as its two lists give them: the first of the API's belongs with the first of ingress', and so on.
 * Each address has the prefix length of its own family. (Upstream asks the API's address for both, so that an ingress VIP
 * without one is /128 whatever it is.) Decided here: what are no pairs. Refuses to know who has which address.
 */
import { familyName } from '../../../config/network.ts'
import { type Address, type Family, familyOf, isLinkLocal, isMulticast, parseAddress } from '../../../wire/address.ts'
import type { Service } from './vrid.ts'

export type VipPair = {
  /** From 0; the last part of an instance's name. */
  readonly index: number
  /** Of whichever of them there is. */
  readonly family: Family
  readonly api: Address | undefined
  readonly ingress: Address | undefined
}

/** Problems: all of them, none when there are pairs. */
export type VipPairs = { readonly pairs: readonly VipPair[]; readonly problems: readonly string[] }

type Words = Readonly<Record<Service, readonly string[]>>

export function vipPairs(words: Words): VipPairs {
  const { api, ingress } = words
  const problems = [...vipProblems('API', api), ...vipProblems('ingress', ingress), ...twice([...api, ...ingress])]
  const pairs = Array.from({ length: Math.max(api.length, ingress.length) }, (_, index) => {
    const both = { api: vipIn(api[index]), ingress: vipIn(ingress[index]) }
    const [first, second] = [both.api, both.ingress].filter((vip) => vip !== undefined).map(familyOf)
    if (first !== undefined && second !== undefined && first !== second)
      problems.push(`The VIPs ${both.api} and ${both.ingress} are a pair (both number ${index + 1}), of two families`)
    return { index, family: first ?? 'ipv4', ...both }
  })
  return problems.length > 0 ? { pairs: [], problems } : { pairs, problems }
}

/** All VIPs of all pairs: no address of a node is among them. */
export const allVips = (pairs: readonly VipPair[]): readonly Address[] =>
  pairs.flatMap(({ api, ingress }) => [api ?? [], ingress ?? []].flat())

const vipIn = (word: string | undefined): Address | undefined => (word === undefined ? undefined : parseAddress(word))

function vipProblems(service: string, words: readonly string[]): string[] {
  const families = new Set<Family>()
  return words.flatMap((word) => {
    const vip = parseAddress(word)
    if (vip === undefined) return [`Cannot use "${word}" as VIP of ${service}: it is no IP address`]
    const kind = kindOf(vip)
    if (kind !== undefined) return [`Cannot use ${vip} as VIP of ${service}: it is ${kind}`]
    const family = familyOf(vip)
    // Both would be one virtual router: VRIDs are of a service and a family.
    if (families.has(family))
      return [`Cannot use ${vip} as VIP of ${service}: it has another one of ${familyName(family)}`]
    families.add(family)
    return []
  })
}

/** Of addresses that nobody can have for himself on a LAN. */
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
  return [...new Set(again)].map((vip) => `The VIP ${vip} is listed twice: each is one virtual router's`)
}
