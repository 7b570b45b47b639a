/**
 * Which interface a router runs on and which address it sends from, out of those of the node. Decided here: what
 * `auto` means, and that a choice that may still become possible is a warning, one that only an edit can make an error.
 * This file does not know what else a router is told.
 */
import { type Address, isLinkLocal } from '../wire/address.ts'
import type { VirtualRouter } from './config.ts'
import { nameOfInterface } from './holding.ts'
import { familyName, familyOfAll, type Scope, scopeOf } from './network.ts'
import { mayServeNetworkOf, type OwnInterface, type Standing, servesNetworkOf } from './node-view.ts'
import type { Report } from './problem.ts'
import { sourceOf, sourcePath, unicastOf } from './schema/transport.ts'
import { nearestWord } from './text/spelling.ts'

/**
 * Without peers it is alone, whatever the profile, and never multicast by accident; an empty unicast_peer block of
 * keepalived's files is written as multicast by their reader (config/keepalived/import/import-transport.ts).
 */
export const usesMulticast = (router: VirtualRouter): boolean => unicastOf(router) === undefined

/** Every IPv6 interface is in fe80::/10, so only another address can say which one is meant. */
const telling = ({ addresses }: VirtualRouter) => addresses.find(({ address }) => !isLinkLocal(address))

export function chooseInterface(
  router: VirtualRouter,
  interfaces: readonly OwnInterface[],
  report: Report,
): OwnInterface | undefined {
  const { name } = router
  const wanted = nameOfInterface(router)
  if (wanted !== undefined) {
    const named = interfaces.find((each) => each.name === wanted)
    if (named === undefined)
      report(
        'warning',
        ['interface'],
        `Cannot find interface "${wanted}" for "${name}"${meant(wanted, interfaces)}: the router is in fault until it appears`,
      )
    else if (named.portOf !== undefined)
      report(
        'warning',
        ['interface'],
        `Cannot hear anybody on "${named.name}", a port (${named.portOf}): "${name}" is in fault until it is none`,
      )
    return named
  }
  const vip = telling(router)
  if (vip === undefined) return undefined
  const serving = (serves: (own: Standing) => boolean) =>
    interfaces.filter(({ portOf, own, listedOwn }) => portOf === undefined && [...own, ...listedOwn].some(serves))
  const certain = serving(servesNetworkOf(vip))
  const found = certain.length > 0 ? certain : serving(mayServeNetworkOf(vip))
  const [first, second] = found
  if (first !== undefined && second === undefined) return first
  if (first === undefined)
    report(
      'warning',
      ['interface'],
      `Cannot find an interface in the network of ${vip.address} for "${name}": the router is in fault until there is one`,
    )
  else
    report(
      'error',
      ['interface'],
      `Cannot choose an interface for "${name}": ${found.map((each) => each.name).join(' and ')} are both ` +
        `in the network of ${vip.address}, name one`,
    )
  return undefined
}

function meant(wanted: string, interfaces: readonly OwnInterface[]): string {
  const near = nearestWord(
    wanted,
    interfaces.map(({ name }) => name),
  )
  return near === undefined ? '' : ` (did you mean "${near}"?)`
}

/** Undefined: none yet, and why has been said. `held`: the address by which the interface was found. */
export function chooseSource(
  router: VirtualRouter,
  chosen: OwnInterface,
  held: Address | undefined,
  report: Report,
): Address | undefined {
  const wanted = wantedSource(router, held)
  const untilThen = `"${router.name}" is in fault until then`
  if (wanted !== 'auto') {
    const standing = chosen.own.find(({ address }) => address === wanted)
    if (standing !== undefined && standing.tentative !== true) return wanted
    const reason = standing === undefined ? 'it does not have this address' : 'this address is still tentative'
    report('warning', sourcePath(router), `Cannot send from ${wanted} on "${chosen.name}": ${reason}, ${untilThen}`)
    return undefined
  }
  const scope = sourceScope(router)
  const isSuitable = ({ address }: Standing) => scope === undefined || scopeOf(address) === scope
  const suitable = chosen.own.filter(isSuitable)
  const [ready] = suitable.filter(({ tentative }) => tentative !== true).sort(byNearness(router))
  if (ready !== undefined) return ready.address
  // The file lists it as a VIP, and is refused for that.
  if (suitable.length === 0 && chosen.listedOwn.some(isSuitable)) return undefined
  const kind = scope === 'link-local' ? 'link-local' : familyName(familyOfAll(router.addresses))
  const reason = suitable.length > 0 ? `its ${kind} address is still tentative` : `it has no ${kind} address of its own`
  report('warning', ['interface'], `Cannot send from "${chosen.name}": ${reason}, ${untilThen}`)
  return undefined
}

/** The address that the node is known by is also the source, unless IPv6 wants a link-local one. */
function wantedSource(router: VirtualRouter, held: Address | undefined): Address | 'auto' {
  const written = sourceOf(router)
  if (written !== 'auto' || held === undefined) return written
  const scope = sourceScope(router)
  return scope === undefined || scopeOf(held) === scope ? held : 'auto'
}

/** RFC 9568 §5.1.2.1 for multicast; in unicast what the peers can answer to. */
function sourceScope(router: VirtualRouter): Scope | undefined {
  if (familyOfAll(router.addresses) === 'ipv4') return undefined
  if (usesMulticast(router)) return 'link-local'
  const [basis] = [...(unicastOf(router)?.peers ?? []), telling(router)].filter((each) => each !== undefined)
  return basis === undefined ? 'link-local' : scopeOf(basis.address)
}

/** In the network of the VIP before others, then what is meant to be a source; otherwise in the order of the kernel. */
function byNearness(router: VirtualRouter): (a: Standing, b: Standing) => number {
  const vip = telling(router) ?? router.addresses[0]
  const serves = vip === undefined ? () => false : servesNetworkOf(vip)
  const rank = (own: Standing) => (own.deprecated === true ? 2 : 0) + (serves(own) ? 0 : 1)
  return (a, b) => rank(a) - rank(b)
}
