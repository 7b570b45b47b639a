/**
 * Chooses the interface and the source address of a router among those of the node. This file decides the meaning of
 * `auto`. If a choice is impossible now but may become possible later, the problem is a warning. If only an edit of the
 * configuration makes a choice possible, the problem is an error.
 */
import { type Address, isLinkLocal } from '../wire/address.ts'
import type { VirtualRouter } from './config.ts'
import { nameOfInterface } from './holding.ts'
import { familyName, familyOfAll, type Scope, scopeOf } from './network.ts'
import { mayServeNetworkOf, type OwnInterface, type PresentAddress, servesNetworkOf } from './node-view.ts'
import type { Report } from './problem.ts'
import { sourceOf, sourcePath, unicastOf } from './schema/transport.ts'
import { nearestWord } from './text/spelling.ts'

/**
 * Tells whether a router uses multicast. A router with an empty list of unicast peers is alone, whatever the profile,
 * and never uses multicast by accident. The reader of keepalived's files turns an empty unicast_peer block into
 * multicast (config/keepalived/import/import-transport.ts).
 */
export const usesMulticast = (router: VirtualRouter): boolean => unicastOf(router) === undefined

/**
 * Returns the first VIP that shows the network of the router. A link-local address does not, because every IPv6
 * interface is in fe80::/10.
 */
const telling = ({ addresses }: VirtualRouter) => addresses.find(({ address }) => !isLinkLocal(address))

/**
 * Returns the interface of a router whose key `interface` is a name or `auto`. `undefined`: no interface fits, and the
 * reason has been reported.
 */
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
        `Cannot receive packets on "${named.name}", which is a port (${named.portOf}): "${name}" is in fault while it is a port`,
      )
    return named
  }
  const vip = telling(router)
  if (vip === undefined) return undefined
  const serving = (serves: (own: PresentAddress) => boolean) =>
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
        `in the network of ${vip.address}; write the name of one`,
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

/**
 * Returns the source address of a router's packets. `undefined`: the interface has no suitable address yet, and the
 * reason has been reported. `held` is the address by which the interface was found.
 */
export function chooseSource(
  router: VirtualRouter,
  chosen: OwnInterface,
  held: Address | undefined,
  report: Report,
): Address | undefined {
  const wanted = wantedSource(router, held)
  const untilThen = `"${router.name}" is in fault until that changes`
  if (wanted !== 'auto') {
    const present = chosen.own.find(({ address }) => address === wanted)
    if (present !== undefined && present.tentative !== true) return wanted
    const reason =
      present === undefined ? 'the interface does not have this address' : 'this address is still tentative'
    report('warning', sourcePath(router), `Cannot send from ${wanted} on "${chosen.name}": ${reason}, ${untilThen}`)
    return undefined
  }
  const scope = sourceScope(router)
  const isSuitable = ({ address }: PresentAddress) => scope === undefined || scopeOf(address) === scope
  const suitable = chosen.own.filter(isSuitable)
  const [ready] = suitable.filter(({ tentative }) => tentative !== true).sort(byNearness(router))
  if (ready !== undefined) return ready.address
  // The configuration lists this own address as a VIP. An own address that is listed as a VIP is reported in
  // own-address.ts.
  if (suitable.length === 0 && chosen.listedOwn.some(isSuitable)) return undefined
  const kind = scope === 'link-local' ? 'link-local' : familyName(familyOfAll(router.addresses))
  const reason = suitable.length > 0 ? `its ${kind} address is still tentative` : `it has no ${kind} address of its own`
  report('warning', ['interface'], `Cannot send from "${chosen.name}": ${reason}, ${untilThen}`)
  return undefined
}

/**
 * Returns the source address that the configuration names, or the address by which the interface was found. IPv6
 * multicast needs a link-local source address.
 */
function wantedSource(router: VirtualRouter, held: Address | undefined): Address | 'auto' {
  const written = sourceOf(router)
  if (written !== 'auto' || held === undefined) return written
  const scope = sourceScope(router)
  return scope === undefined || scopeOf(held) === scope ? held : 'auto'
}

/**
 * Returns the scope that the source address must have. Multicast follows RFC 9568 §5.1.2.1; in unicast, the peers must
 * be able to answer.
 */
function sourceScope(router: VirtualRouter): Scope | undefined {
  if (familyOfAll(router.addresses) === 'ipv4') return undefined
  if (usesMulticast(router)) return 'link-local'
  const [basis] = [...(unicastOf(router)?.peers ?? []), telling(router)].filter((each) => each !== undefined)
  return basis === undefined ? 'link-local' : scopeOf(basis.address)
}

/**
 * Sorts source addresses: those in the network of the VIP first, deprecated addresses last. Equally good addresses keep
 * the order of the kernel.
 */
function byNearness(router: VirtualRouter): (a: PresentAddress, b: PresentAddress) => number {
  const vip = telling(router) ?? router.addresses[0]
  const serves = vip === undefined ? () => false : servesNetworkOf(vip)
  const rank = (own: PresentAddress) => (own.deprecated === true ? 2 : 0) + (serves(own) ? 0 : 1)
  return (a, b) => rank(a) - rank(b)
}
