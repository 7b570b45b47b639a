/**
 * Which address is the node's own: the one that kubelet, CRI-O, OVN and the VIPs' engine all build on. The same machine
 * gives the same answer, whatever order the kernel lists things in; where upstream's answer depends on that order, the
 * hint wins, then the earlier VIP, then the lower interface index. Decided here: the choice, and why each other address lost.
 * Refuses to know where links, hints and VIPs come from.
 */
import { sameNetwork } from '../../../config/network.ts'
import {
  type Address,
  addressBytes,
  compareAddresses,
  type Family,
  familyOf,
  isLinkLocal,
} from '../../../wire/address.ts'

export type LinkAddress = {
  readonly address: Address
  readonly prefixLength: number
  /** IPv6: its preferred lifetime is over (0 from the start on VIPs). */
  readonly deprecated: boolean
  /** The kernel's IFA_LABEL; empty where there is none (IPv6). */
  readonly label: string
}

export type Link = { readonly name: string; readonly index: number; readonly addresses: readonly LinkAddress[] }

export type Route = {
  /** Name of its link. */
  readonly link: string
  /** Undefined: the default route. */
  readonly destination: { readonly address: Address; readonly prefixLength: number } | undefined
  /** Learnt from a router advertisement (RTPROT_RA). */
  readonly fromRouter: boolean
  /** Lower is better. */
  readonly metric: number
  readonly gateway: Address | undefined
}

export type NodeView = { readonly links: readonly Link[]; readonly routes: readonly Route[] }

export const hasAddress = ({ links }: NodeView, wanted: Address): boolean =>
  links.some(({ addresses }) => addresses.some(({ address }) => address === wanted))

export type Wishes = {
  /** An address in the network that is wanted, which no node has. */
  readonly hints: readonly Address[]
  readonly vips: readonly Address[]
  readonly preferIpv6: boolean
  /** OVN-Kubernetes has fd69::2 on every node for itself. */
  readonly ovn: boolean
}

export type Verdict = {
  readonly link: string
  readonly address: Address
  readonly chosen: boolean
  readonly why: string
}

export type Selection = {
  /** At most one of each family, the preferred family first; empty: this node has none. */
  readonly chosen: readonly Address[]
  /** Found by a hint or VIP, not by the default route. */
  readonly matches: boolean
  /** The link of the first one chosen. */
  readonly link: string | undefined
  /** One for each address of the node, in the order of links. */
  readonly verdicts: readonly Verdict[]
}

type Candidate = LinkAddress & { readonly link: Link; readonly octets: Uint8Array }

const OVN_INTERNAL = 'fd69::2' as Address

export function selectNodeAddresses(node: NodeView, wishes: Wishes): Selection {
  const links = [...node.links].sort((one, other) => one.index - other.index)
  const whyNot = new Map<Candidate, string>()
  const all = links.flatMap((link) =>
    link.addresses.map((each): Candidate => ({ ...each, link, octets: addressBytes(each.address) })),
  )
  const fit = all.filter((candidate) => {
    const unfit = unfitness(candidate, wishes)
    if (unfit !== undefined) whyNot.set(candidate, unfit)
    return unfit === undefined
  })
  const byWish = matching(fit, node.routes, wishes)
  const found = byWish ?? byDefaultRoute(fit, node.routes, wishes.preferIpv6)
  const chosen = found.chosen.toSorted((one, other) => byFamily(one, other, wishes.preferIpv6))
  return {
    chosen: chosen.map(({ address }) => address),
    matches: byWish !== undefined,
    link: chosen[0]?.link.name,
    verdicts: all.map((candidate) => {
      const isChosen = chosen.includes(candidate)
      const why = isChosen ? found.why : (whyNot.get(candidate) ?? found.whyNot(candidate))
      return { link: candidate.link.name, address: candidate.address, chosen: isChosen, why }
    }),
  }
}

function unfitness({ address, deprecated, label }: LinkAddress, { hints, vips, ovn }: Wishes): string | undefined {
  if (isLoopback(address)) return 'loopback'
  if (isLinkLocal(address) || address.startsWith('169.254.')) return 'link-local'
  if (deprecated) return 'deprecated: its preferred lifetime is over'
  if (label.includes('eip')) return `an egress IP of OVN (label ${label})`
  if (ovn && address === OVN_INTERNAL) return "OVN's own"
  // The next node may have it in a second.
  if (vips.includes(address)) return 'a VIP'
  if (hints.includes(address)) return 'the hint itself: a hint names a network by an address that no node has'
  return undefined
}

type Pass = {
  readonly chosen: readonly Candidate[]
  readonly why: string
  readonly whyNot: (candidate: Candidate) => string
}

/** Undefined: no hint or VIP is in the network of any address. */
function matching(fit: readonly Candidate[], routes: readonly Route[], { hints, vips }: Wishes): Pass | undefined {
  const wanted = [...hints.map((value) => ({ value, kind: 'hint' })), ...vips.map((value) => ({ value, kind: 'VIP' }))]
  for (const { value, kind } of wanted) {
    const first = fit.find((candidate) => contains(candidate, routes, value))
    if (first === undefined) continue
    const family = familyOf(first.address)
    const companion = fit.find(
      ({ link, address }) => link === first.link && familyOf(address) !== family && !isMapped(address),
    )
    return {
      chosen: companion === undefined ? [first] : [first, companion],
      why: `on ${first.link.name}, where the ${kind} ${value} belongs`,
      whyNot: (candidate) =>
        candidate.link === first.link
          ? `${familyOf(candidate.address) === family && !contains(candidate, routes, value) ? 'not in the network of' : 'behind another one that belongs to'} the ${kind} ${value}`
          : `not on ${first.link.name}, where the ${kind} ${value} belongs`,
    }
  }
  return undefined
}

/** The network is known by the prefix; of DHCPv6's /128 by what routers advertise. */
function contains(candidate: Candidate, routes: readonly Route[], value: Address): boolean {
  const { octets, prefixLength, link, address } = candidate
  // ::ffff:192.0.2.1/64 would contain every IPv4 address that is written so.
  if (isMapped(address)) return false
  const wanted = addressBytes(value)
  if (octets.length !== wanted.length) return false
  if (octets.length !== 16 || prefixLength !== 128) return sameNetwork(octets, wanted, prefixLength)
  return routes.some(
    ({ link: on, destination, fromRouter }) =>
      on === link.name &&
      fromRouter &&
      destination !== undefined &&
      familyOf(destination.address) === 'ipv6' &&
      sameNetwork(octets, wanted, destination.prefixLength),
  )
}

type Routed = { readonly candidate: Candidate; readonly route: Route }

function byDefaultRoute(fit: readonly Candidate[], routes: readonly Route[], preferIpv6: boolean): Pass {
  const defaults = routes.filter(({ destination }) => destination === undefined)
  const routed = fit.flatMap((candidate) =>
    defaults.filter(({ link }) => link === candidate.link.name).map((route): Routed => ({ candidate, route })),
  )
  const rules = rulesFor(preferIpv6)
  const sorted = routed.sort((one, other) => firstDifference(rules, one, other)?.sign ?? 0)
  const chosen = (['ipv4', 'ipv6'] as const).flatMap(
    (family) => sorted.find(({ candidate }) => familyOf(candidate.address) === family) ?? [],
  )
  return {
    chosen: chosen.map(({ candidate }) => candidate),
    why: 'the best one on a link with a default route',
    whyNot: (candidate) => {
      const mine = sorted.find((each) => each.candidate === candidate)
      if (mine === undefined) return `no default route over ${candidate.link.name}`
      const winner = chosen.find((each) => familyOf(each.candidate.address) === familyOf(candidate.address))
      const rule = winner === undefined ? undefined : firstDifference(rules, winner, mine)?.name
      return `behind ${winner?.candidate.address} by ${rule}`
    },
  }
}

type Rule = { readonly name: string; readonly of: (one: Routed, other: Routed) => number }

const isFalse = (test: (one: Routed) => boolean) => (one: Routed, other: Routed) =>
  Number(!test(one)) - Number(!test(other))

const rulesFor = (preferIpv6: boolean): readonly Rule[] => [
  { name: 'metric of its route', of: (one, other) => one.route.metric - other.route.metric },
  { name: 'interface index', of: (one, other) => one.candidate.link.index - other.candidate.link.index },
  { name: 'family', of: (one, other) => byFamily(one.candidate, other.candidate, preferIpv6) },
  { name: 'a gateway in its network', of: isFalse(({ candidate, route }) => hasGateway(candidate, route)) },
  {
    name: 'an address that is no IPv4 address in IPv6',
    of: isFalse(({ candidate: { address } }) => !isMapped(address)),
  },
  { name: 'a public address', of: isFalse(({ candidate: { address } }) => !isPrivate(address)) },
  { name: 'the lower address', of: (one, other) => compareAddresses(one.candidate.address, other.candidate.address) },
]

function firstDifference(
  rules: readonly Rule[],
  one: Routed,
  other: Routed,
): { name: string; sign: number } | undefined {
  for (const { name, of } of rules) {
    const sign = of(one, other)
    if (sign !== 0) return { name, sign }
  }
  return undefined
}

const hasGateway = ({ octets, prefixLength }: Candidate, { gateway }: Route): boolean =>
  gateway !== undefined && sameNetwork(octets, addressBytes(gateway), prefixLength)

function byFamily(one: LinkAddress, other: LinkAddress, preferIpv6: boolean): number {
  const wanted: Family = preferIpv6 ? 'ipv6' : 'ipv4'
  return Number(familyOf(one.address) !== wanted) - Number(familyOf(other.address) !== wanted)
}

const isLoopback = (address: Address): boolean => address.startsWith('127.') || address === '::1'
const isMapped = (address: Address): boolean => {
  const octets = addressBytes(address)
  return octets.length === 16 && octets.every((octet, i) => octet === (i === 10 || i === 11 ? 255 : 0) || i > 11)
}

/** RFC 1918, RFC 4193. */
function isPrivate(address: Address): boolean {
  const [first = 0, second = 0] = addressBytes(address)
  if (familyOf(address) === 'ipv6') return (first & 0xfe) === 0xfc
  return first === 10 || (first === 172 && (second & 0xf0) === 16) || (first === 192 && second === 168)
}
