/**
 * Selects the node's own address, on which kubelet, CRI-O, OVN and the engine of the VIPs are based. A machine always
 * gives the same address, whatever the order in the kernel's lists. OpenShift's choice depends on that order in some
 * cases; in holdfast the hint wins, then the earlier VIP, then the lower interface index. The returned value also says
 * why each other address was not chosen.
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
  /** True if the preferred lifetime of an IPv6 address has ended. For VIPs it is 0 from the start. */
  readonly deprecated: boolean
  /** Label of the address in the kernel (IFA_LABEL); empty for IPv6. */
  readonly label: string
}

export type Link = { readonly name: string; readonly index: number; readonly addresses: readonly LinkAddress[] }

export type Route = {
  /** Name of the interface of the route. */
  readonly link: string
  /** Destination of the route; `undefined` for the default route. */
  readonly destination: { readonly address: Address; readonly prefixLength: number } | undefined
  /** True if the route comes from a router advertisement (RTPROT_RA). */
  readonly fromRouter: boolean
  /** Metric of the route. The lowest metric wins. */
  readonly metric: number
  readonly gateway: Address | undefined
}

export type NodeView = { readonly links: readonly Link[]; readonly routes: readonly Route[] }

/** Tells whether an interface has the address. */
export const hasAddress = ({ links }: NodeView, wanted: Address): boolean =>
  links.some(({ addresses }) => addresses.some(({ address }) => address === wanted))

export type Wishes = {
  /** Hints: addresses that name the wanted network. No node has a hint as its own address. */
  readonly hints: readonly Address[]
  readonly vips: readonly Address[]
  readonly preferIpv6: boolean
  /** True if OVN-Kubernetes runs, which has fd69::2 on every node. */
  readonly ovn: boolean
}

export type Suitability = {
  readonly link: string
  readonly address: Address
  readonly chosen: boolean
  readonly why: string
}

export type Selection = {
  /**
   * Chosen addresses of the node: at most one of each family, the preferred family first. Empty if no address of the
   * node is suitable.
   */
  readonly chosen: readonly Address[]
  /** True if a hint or a VIP led to the chosen address, false if the default route did. */
  readonly matches: boolean
  /** Interface of the first chosen address. */
  readonly link: string | undefined
  /** Whether each address of the node is suitable, in the order of the interfaces. */
  readonly suitability: readonly Suitability[]
}

type Candidate = LinkAddress & { readonly link: Link; readonly octets: Uint8Array }

const OVN_INTERNAL = 'fd69::2' as Address

/** Selects the addresses of a node. */
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
    suitability: all.map((candidate) => {
      const isChosen = chosen.includes(candidate)
      const why = isChosen ? found.why : (whyNot.get(candidate) ?? found.whyNot(candidate))
      return { link: candidate.link.name, address: candidate.address, chosen: isChosen, why }
    }),
  }
}

function unfitness({ address, deprecated, label }: LinkAddress, { hints, vips, ovn }: Wishes): string | undefined {
  if (isLoopback(address)) return 'loopback'
  if (isLinkLocal(address) || address.startsWith('169.254.')) return 'link-local'
  if (deprecated) return 'deprecated: its preferred lifetime has ended'
  if (label.includes('eip')) return `an egress IP of OVN (label ${label})`
  if (ovn && address === OVN_INTERNAL) return 'an address that OVN uses itself'
  // A VIP is no address of this node: another node may hold it a second later.
  if (vips.includes(address)) return 'a VIP'
  if (hints.includes(address)) return 'the hint itself, which no node should have'
  return undefined
}

type Pass = {
  readonly chosen: readonly Candidate[]
  readonly why: string
  readonly whyNot: (candidate: Candidate) => string
}

/** Returns the addresses in the network of a hint or VIP; `undefined` if no address is in such a network. */
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
      why: `on ${first.link.name}, in whose network the ${kind} ${value} is`,
      whyNot: (candidate) =>
        candidate.link === first.link
          ? `${familyOf(candidate.address) === family && !contains(candidate, routes, value) ? 'not in the network of' : 'after another address in the network of'} the ${kind} ${value}`
          : `not on ${first.link.name}, in whose network the ${kind} ${value} is`,
    }
  }
  return undefined
}

/**
 * Tells whether an address is in the network of a candidate. The prefix length tells the network. For a /128 address of
 * DHCPv6, a router advertisement tells it.
 */
function contains(candidate: Candidate, routes: readonly Route[], value: Address): boolean {
  const { octets, prefixLength, link, address } = candidate
  // An IPv4-mapped address such as ::ffff:192.0.2.1/64 would contain every other IPv4-mapped address.
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
    why: 'the best address on an interface with a default route',
    whyNot: (candidate) => {
      const mine = sorted.find((each) => each.candidate === candidate)
      if (mine === undefined) return `no default route over ${candidate.link.name}`
      const winner = chosen.find((each) => familyOf(each.candidate.address) === familyOf(candidate.address))
      const rule = winner === undefined ? undefined : firstDifference(rules, winner, mine)?.name
      return `${winner?.candidate.address} is preferred (${rule})`
    },
  }
}

type Rule = { readonly name: string; readonly of: (one: Routed, other: Routed) => number }

const isFalse = (test: (one: Routed) => boolean) => (one: Routed, other: Routed) =>
  Number(!test(one)) - Number(!test(other))

const rulesFor = (preferIpv6: boolean): readonly Rule[] => [
  { name: 'lower metric of the route', of: (one, other) => one.route.metric - other.route.metric },
  { name: 'lower interface index', of: (one, other) => one.candidate.link.index - other.candidate.link.index },
  { name: 'preferred family', of: (one, other) => byFamily(one.candidate, other.candidate, preferIpv6) },
  { name: 'gateway in its network', of: isFalse(({ candidate, route }) => hasGateway(candidate, route)) },
  {
    name: 'not an IPv4-mapped address',
    of: isFalse(({ candidate: { address } }) => !isMapped(address)),
  },
  { name: 'public address', of: isFalse(({ candidate: { address } }) => !isPrivate(address)) },
  { name: 'lower address', of: (one, other) => compareAddresses(one.candidate.address, other.candidate.address) },
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

/** Tells whether an address is private (RFC 1918, RFC 4193). */
function isPrivate(address: Address): boolean {
  const [first = 0, second = 0] = addressBytes(address)
  if (familyOf(address) === 'ipv6') return (first & 0xfe) === 0xfc
  return first === 10 || (first === 172 && (second & 0xf0) === 16) || (first === 192 && second === 168)
}
