/**
 * What one value of a router means for another: the family, the scope and the version decide what the rest may be
 * (VR-CFG-01). Each contradiction is an error, because only an edit can mend it. This file knows one router at a time,
 * and not the node.
 */
import { familyOf } from '../../wire/address.ts'
import type { VirtualRouter } from '../config.ts'
import { holdingOf } from '../holding.ts'
import { familyName, familyOfAll, type Scope, scopeOf } from '../network.ts'
import { type Locate, type Path, type Problem, problemAt } from '../problem.ts'
import { formatDuration } from '../schema/duration.ts'
import { routerKnobs } from '../schema/knobs.ts'
import { type ConfiguredPeer, sourceOf, sourcePath, unicastOf } from '../schema/transport.ts'
import { allAddresses, heldAddresses } from '../schema/virtual-address.ts'

/** A router and where it stands in the file. */
export type Placed = { readonly router: VirtualRouter; readonly path: Path }

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

/** VR-PKT-09. */
function families({ router, path }: Placed, refuse: Refuse): void {
  const { name, addresses } = router
  const family = familyOfAll(addresses)
  const other = addresses.findIndex(({ address }) => familyOf(address) !== family)
  const [first, found] = [addresses[0], addresses[other]]
  if (first !== undefined && found !== undefined)
    refuse(
      ['addresses', other],
      `Cannot use ${found.address} in "${name}" beside ${first.address}: a virtual router has addresses of one family, ` +
        'make a router of each and a sync group of both',
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

/** What version 2 has and version 3 has not, and the reverse. */
function versions({ name, version, addresses, advertisementInterval, authentication }: VirtualRouter, refuse: Refuse) {
  const shown = formatDuration(advertisementInterval)
  if (version === 3) {
    if (advertisementInterval > 40_950)
      refuse(
        ['advertisementInterval'],
        `Cannot use "${shown}" as "advertisementInterval": a duration from 10ms to 40.95s wanted in version 3`,
      )
    if (authentication !== undefined)
      refuse(
        ['authentication'],
        `Cannot use "authentication" in "${name}": version 3 has none (RFC 9568 §9), only version 2 has`,
      )
    return
  }
  // VR-V2-11.
  if (familyOfAll(addresses) === 'ipv6')
    refuse(['version'], `Cannot use version 2 in "${name}": it has no IPv6, use version 3`)
  // VR-V2-13: an interval that became 0 in the packet once flooded LANs.
  if (advertisementInterval % 1000 !== 0)
    refuse(
      ['advertisementInterval'],
      `Cannot use "${shown}" as "advertisementInterval": whole seconds from 1s to 255s wanted in version 2`,
    )
}

function linkLocals(router: VirtualRouter, refuse: Refuse): void {
  const { name, addresses } = router
  if (familyOfAll(addresses) === 'ipv4' || addresses.some(({ address }) => familyOf(address) === 'ipv4')) return
  const scopes = new Set(addresses.map(({ address }) => scopeOf(address)))
  if (router.interface === 'auto' && !scopes.has('global'))
    refuse(
      ['interface'],
      `Cannot choose an interface for "${name}" by a link-local address, which every interface could have: name one`,
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
      refuse([...at, index], `Cannot use ${address} as a peer of "${name}": it is its virtual address`)

  const isIpv6 = familyOfAll(router.addresses) === 'ipv6'
  const odd = (scope: Scope) =>
    isIpv6 ? peers.findIndex(({ address }) => familyOf(address) === 'ipv6' && scopeOf(address) !== scope) : -1
  const holding = holdingOf(router)
  if (holding !== undefined && 'address' in holding && virtual.has(holding.address) && router.priority !== 255)
    refuse(
      ['interface', 'holding'],
      `Cannot run "${name}" where ${holding.address} is: it is its virtual address, which moves`,
    )
  const source = sourceOf(router)
  if (virtual.has(source) && router.priority !== 255)
    refuse(sourcePath(router), `Cannot send from ${source}: it is a virtual address of "${name}"`)
  if (unicastOf(router) === undefined) {
    // They are compared with our own source, which is link-local there.
    const global = odd('link-local')
    if (global >= 0)
      refuse(
        [...at, global],
        `Cannot use ${peers[global]?.address} as a peer of "${name}": routers know each other by their link-local ` +
          'addresses in IPv6 multicast',
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
        `${basis}: one source address serves all peers, so all are link-local or none is`,
    )
  for (const [index, { address, minTtl, maxTtl }] of peers.entries()) {
    if (minTtl === undefined && maxTtl === undefined) continue
    if ((minTtl ?? 0) > (maxTtl ?? 255))
      refuse([...at, index, 'minTtl'], `Cannot hear ${address} with a TTL from ${minTtl} to ${maxTtl}: least first`)
    else if (routerKnobs(router).ttlCheck && (maxTtl ?? 255) < 255)
      refuse(
        [...at, index, 'maxTtl'],
        `Cannot hear ${address} with a TTL up to ${maxTtl}: "ttlCheck" of "${name}" wants 255, set it to false`,
      )
  }
  if (router.peers !== undefined)
    refuse(
      ['peers'],
      `Cannot use "peers" beside unicast in "${name}": it is the hint of multicast, write them under transport.unicast`,
    )
}
