/**
 * Contradictions between the values of one router (VR-CFG-01). The address family, the scope and the VRRP version limit
 * the other values. A contradiction is an error, because only an edit of the configuration removes it. The functions
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
      refusedValue(
        `addresses[${other}] of "${name}"`,
        found.address,
        `an ${familyName(family)} address, like ${first.address}; use one router for each family, and a sync group of both`,
      ),
    )
  const listed = peerList({ router, path })
  for (const [index, { address }] of (listed.peers ?? []).entries())
    if (familyOf(address) !== family)
      refuse(
        [...listed.path.slice(path.length), index],
        refusedValue(
          `peers[${index}] of "${name}"`,
          address,
          `an ${familyName(family)} address, like the virtual addresses`,
        ),
      )
  const holding = holdingOf(router)
  if (holding !== undefined && 'address' in holding && familyOf(holding.address) !== family)
    refuse(
      ['interface', 'holding'],
      refusedValue(
        `interface.holding of "${name}"`,
        holding.address,
        `an ${familyName(family)} address, like the virtual addresses`,
      ),
    )
  const source = sourceOf(router)
  if (source !== 'auto' && familyOf(source) !== family)
    refuse(
      sourcePath(router),
      refusedValue(`source of "${name}"`, source, `an ${familyName(family)} address, like the virtual addresses`),
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
        `authentication of "${name}": cannot be used in version 3 (RFC 9568 §9), expected version 2`,
      )
    return
  }
  // VR-V2-11.
  if (familyOfAll(addresses) === 'ipv6')
    refuse(['version'], refusedValue(`version of "${name}"`, 2, '3, because version 2 has no IPv6'))
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
      refusedValue(
        `interface of "${name}"`,
        'auto',
        'the name of an interface, because any interface may have a link-local address',
      ),
    )
  // VR-PKT-06, VR-TX-04.
  if (routerKnobs(router).firstAddressLinkLocal && !scopes.has('link-local'))
    refuse(
      ['addresses'],
      `addresses of "${name}": no link-local address, expected one (RFC 9568 §5.2.9), or "firstAddressLinkLocal: false"`,
    )
}

function labels(router: VirtualRouter, refuse: Refuse): void {
  for (const { entry, path } of allAddresses(router))
    if (entry.label !== undefined && familyOf(entry.address) === 'ipv6')
      refuse(
        [...path, 'label'],
        refusedValue(`label of ${entry.address}`, entry.label, 'no label, because the kernel has none for IPv6'),
      )
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
        refusedValue(`peers[${index}] of "${name}"`, address, 'the own address of a peer, not a virtual address'),
      )

  const isIpv6 = familyOfAll(router.addresses) === 'ipv6'
  const odd = (scope: Scope) =>
    isIpv6 ? peers.findIndex(({ address }) => familyOf(address) === 'ipv6' && scopeOf(address) !== scope) : -1
  const holding = holdingOf(router)
  if (holding !== undefined && 'address' in holding && virtual.has(holding.address) && router.priority !== 255)
    refuse(
      ['interface', 'holding'],
      refusedValue(
        `interface.holding of "${name}"`,
        holding.address,
        'an address that is not virtual and does not move',
      ),
    )
  const source = sourceOf(router)
  if (virtual.has(source) && router.priority !== 255)
    refuse(sourcePath(router), refusedValue(`source of "${name}"`, source, 'an address that is not virtual'))
  if (unicastOf(router) === undefined) {
    // A multicast router compares peer addresses with its own source, which is link-local in IPv6.
    const global = odd('link-local')
    if (global >= 0)
      refuse(
        [...at, global],
        refusedValue(
          `peers[${global}] of "${name}"`,
          peers[global]?.address,
          'a link-local address, from which routers send in IPv6 multicast',
        ),
      )
    return
  }
  const [first] = peers
  const basis = source === 'auto' ? first?.address : source
  const other = basis === undefined ? -1 : odd(scopeOf(basis))
  if (basis !== undefined && other >= 0)
    refuse(
      [...at, other],
      refusedValue(
        `peers[${other}] of "${name}"`,
        peers[other]?.address,
        `${scopeOf(basis) === 'link-local' ? 'a' : 'no'} link-local address, like ${source === 'auto' ? 'the peer' : 'the source'} ${basis}, because one source address serves all peers`,
      ),
    )
  ttlRanges(placed, refuse)
  if (router.peers !== undefined)
    refuse(['peers'], `peers of "${name}": cannot be used with unicast, expected the peers under transport.unicast`)
}

/** Checks the range of TTLs of each peer. */
function ttlRanges(placed: Placed, refuse: Refuse): void {
  const { router, path } = placed
  const { peers = [], path: listed } = peerList(placed)
  const at = listed.slice(path.length)
  for (const [index, { address, minTtl = 0, maxTtl = 255 }] of peers.entries()) {
    if (minTtl > maxTtl)
      refuse([...at, index, 'minTtl'], refusedValue(`minTtl of ${address}`, minTtl, `a value up to maxTtl (${maxTtl})`))
    else if (routerKnobs(router).ttlCheck && maxTtl < 255)
      refuse(
        [...at, index, 'maxTtl'],
        refusedValue(`maxTtl of ${address}`, maxTtl, `255, or "ttlCheck: false" in "${router.name}"`),
      )
  }
}
