/**
 * Contradictions between the values of one router (VR-CFG-01). The address family, the scope and the VRRP version limit
 * the other values. Each contradiction is an error, because only an edit of the configuration removes it. The functions
 * see one router at a time, and not the node.
 */
import { refusedValue } from '../../base/refused-value.ts'
import { familyOf } from '../../wire/address.ts'
import type { VirtualRouter } from '../config.ts'
import { holdingOf } from '../holding.ts'
import { familyName, familyOfAll, type Scope, scopeOf } from '../network.ts'
import { type Locate, type Path, type Problem, problemAt } from '../problem.ts'
import { formatDuration } from '../schema/duration.ts'
import { routerKnobs } from '../schema/knobs.ts'
import { type ConfiguredPeer, sourceOf, sourcePath, unicastOf } from '../schema/transport.ts'
import { allAddresses, heldAddresses } from '../schema/virtual-address.ts'

/** A router and its path in the configuration. */
export type Placed = { readonly router: VirtualRouter; readonly path: Path }

/**
 * Returns the peers of a router and the path of the peer list. Unicast and multicast have different keys for the list.
 */
export function peerList({ router, path }: Placed): {
  readonly peers: readonly ConfiguredPeer[] | undefined
  readonly path: Path
} {
  const unicast = unicastOf(router)
  return unicast === undefined
    ? { peers: router.peers, path: [...path, 'peers'] }
    : { peers: unicast.peers, path: [...path, 'transport', 'unicast', 'peers'] }
}

type Refuse = (at: Path, message: string) => void

/** Returns the contradictions between the values of one router. */
export function contradictions(placed: Placed, locate: Locate): Problem[] {
  const { path } = placed
  const problems: Problem[] = []
  const refuse: Refuse = (at, message) => problems.push(problemAt(locate, [...path, ...at], 'error', message))
  families(placed, refuse)
  versions(placed.router, refuse)
  linkLocals(placed.router, refuse)
  labels(placed.router, refuse)
  peering(placed, refuse)
  return problems
}

/** Checks that all addresses of the router have one family (VR-PKT-09). */
function families({ router, path }: Placed, refuse: Refuse): void {
  const { name, addresses } = router
  const family = familyOfAll(addresses)
  const other = addresses.findIndex(({ address }) => familyOf(address) !== family)
  const [first, found] = [addresses[0], addresses[other]]
  if (first !== undefined && found !== undefined)
    refuse(
      ['addresses', other],
      `Cannot use ${found.address} in "${name}" beside ${first.address}: a virtual router has addresses of one family; ` +
        'use one router for each family, and a sync group of both',
    )
  const listed = peerList({ router, path })
  for (const [index, { address }] of (listed.peers ?? []).entries())
    if (familyOf(address) !== family)
      refuse(
        [...listed.path.slice(path.length), index],
        `Cannot use ${address} as a peer of "${name}": its virtual addresses are ${familyName(family)}`,
      )
  const holding = holdingOf(router)
  if (holding !== undefined && 'address' in holding && familyOf(holding.address) !== family)
    refuse(
      ['interface', 'holding'],
      `Cannot run "${name}" where ${holding.address} is: its virtual addresses are ${familyName(family)}`,
    )
  const source = sourceOf(router)
  if (source !== 'auto' && familyOf(source) !== family)
    refuse(
      sourcePath(router),
      `Cannot send from ${source}: the virtual addresses of "${name}" are ${familyName(family)}`,
    )
}

/** Refuses values that exist in one VRRP version only. */
function versions({ name, version, addresses, advertisementInterval, authentication }: VirtualRouter, refuse: Refuse) {
  const shown = formatDuration(advertisementInterval)
  if (version === 3) {
    if (advertisementInterval > 40_950)
      refuse(
        ['advertisementInterval'],
        refusedValue(`advertisementInterval of "${name}"`, shown, 'a duration from 10ms to 40.95s in version 3'),
      )
    if (authentication !== undefined)
      refuse(
        ['authentication'],
        `Cannot use "authentication" in "${name}": version 3 has no authentication (RFC 9568 §9), only version 2 has`,
      )
    return
  }
  // VR-V2-11.
  if (familyOfAll(addresses) === 'ipv6')
    refuse(['version'], `Cannot use version 2 in "${name}": version 2 has no IPv6; use version 3`)
  // VR-V2-13: an interval that is rounded to 0 in the packet floods the LAN.
  if (advertisementInterval % 1000 !== 0)
    refuse(
      ['advertisementInterval'],
      refusedValue(`advertisementInterval of "${name}"`, shown, 'whole seconds from 1s to 255s in version 2'),
    )
}

function linkLocals(router: VirtualRouter, refuse: Refuse): void {
  const { name, addresses } = router
  if (familyOfAll(addresses) === 'ipv4' || addresses.some(({ address }) => familyOf(address) === 'ipv4')) return
  const scopes = new Set(addresses.map(({ address }) => scopeOf(address)))
  if (router.interface === 'auto' && !scopes.has('global'))
    refuse(
      ['interface'],
      `Cannot choose an interface for "${name}" by a link-local address, which every interface could have; write the name of the interface`,
    )
  // VR-PKT-06, VR-TX-04.
  if (routerKnobs(router).firstAddressLinkLocal && !scopes.has('link-local'))
    refuse(
      ['addresses'],
      `Cannot run "${name}" without a link-local virtual address (RFC 9568 §5.2.9): add one, ` +
        'or set "firstAddressLinkLocal: false"',
    )
}

function labels(router: VirtualRouter, refuse: Refuse): void {
  for (const { entry, path } of allAddresses(router))
    if (entry.label !== undefined && familyOf(entry.address) === 'ipv6')
      refuse([...path, 'label'], `Cannot label ${entry.address}: the kernel has no labels for IPv6 addresses`)
}

function peering(placed: Placed, refuse: Refuse): void {
  const { router, path } = placed
  const { name } = router
  const virtual = new Set<string>(heldAddresses(router))
  const listed = peerList(placed)
  const at = listed.path.slice(path.length)
  const peers = listed.peers ?? []
  for (const [index, { address }] of peers.entries())
    if (virtual.has(address))
      refuse(
        [...at, index],
        `Cannot use ${address} as a peer of "${name}": this is a virtual address of the router itself`,
      )

  const isIpv6 = familyOfAll(router.addresses) === 'ipv6'
  const odd = (scope: Scope) =>
    isIpv6 ? peers.findIndex(({ address }) => familyOf(address) === 'ipv6' && scopeOf(address) !== scope) : -1
  const holding = holdingOf(router)
  if (holding !== undefined && 'address' in holding && virtual.has(holding.address) && router.priority !== 255)
    refuse(
      ['interface', 'holding'],
      `Cannot run "${name}" where ${holding.address} is: this is a virtual address of the router itself, which moves`,
    )
  const source = sourceOf(router)
  if (virtual.has(source) && router.priority !== 255)
    refuse(sourcePath(router), `Cannot send from ${source}: it is a virtual address of "${name}"`)
  if (unicastOf(router) === undefined) {
    // A multicast router compares peer addresses with its own source, which is link-local in IPv6.
    const global = odd('link-local')
    if (global >= 0)
      refuse(
        [...at, global],
        `Cannot use ${peers[global]?.address} as a peer of "${name}": in IPv6 multicast, routers ` +
          'identify each other by their link-local addresses',
      )
    return
  }
  const [first] = peers
  const basis = source === 'auto' ? first?.address : source
  const other = basis === undefined ? -1 : odd(scopeOf(basis))
  if (basis !== undefined && other >= 0)
    refuse(
      [...at, other],
      `Cannot use ${peers[other]?.address} as a peer of "${name}" ${source === 'auto' ? 'beside' : 'with source'} ` +
        `${basis}: one source address serves all peers, so either all are link-local or none is`,
    )
  ttlRanges(placed, refuse)
  if (router.peers !== undefined)
    refuse(
      ['peers'],
      `Cannot use "peers" together with unicast in "${name}": this key is for multicast; list the peers under transport.unicast`,
    )
}

/** Checks the range of TTLs of each peer. */
function ttlRanges(placed: Placed, refuse: Refuse): void {
  const { router, path } = placed
  const { peers = [], path: listed } = peerList(placed)
  const at = listed.slice(path.length)
  for (const [index, { address, minTtl, maxTtl }] of peers.entries()) {
    if (minTtl === undefined && maxTtl === undefined) continue
    if ((minTtl ?? 0) > (maxTtl ?? 255))
      refuse(
        [...at, index, 'minTtl'],
        `Cannot use minTtl ${minTtl} and maxTtl ${maxTtl} for ${address}: minTtl must not be greater than maxTtl`,
      )
    else if (routerKnobs(router).ttlCheck && (maxTtl ?? 255) < 255)
      refuse(
        [...at, index, 'maxTtl'],
        `Cannot use maxTtl ${maxTtl} for ${address}: "ttlCheck" of "${router.name}" accepts 255 only; set it to false`,
      )
  }
}
