/**
 * Warnings and notes of `holdfast check` about one router: settings that work and may surprise. A configuration with
 * such warnings or notes can still be used. This file knows nothing about other routers and the node.
 */

import { simplePassword } from '../../vrrp/authentication.ts'
import { staggerStep } from '../../vrrp/extensions/stagger.ts'
import { familyOf } from '../../wire/address.ts'
import { centis } from '../../wire/units.ts'
import type { VirtualRouter } from '../config.ts'
import { datagramLength, USUAL_MTU } from '../datagram.ts'
import { nameOfInterface } from '../holding.ts'
import { familyOfAll, scopeOf } from '../network.ts'
import { type Locate, noteAt, problemAt, type Remark } from '../problem.ts'
import { formatDuration } from '../schema/duration.ts'
import { routerKnobs } from '../schema/knobs.ts'
import { interfacesIn } from '../schema/track.ts'
import { unicastOf } from '../schema/transport.ts'
import { allAddresses, installsAsWritten, ownAddressesOf, type PlacedAddress } from '../schema/virtual-address.ts'
import { type Placed, peerList } from './contradiction.ts'

/**
 * Advertisement interval in milliseconds. Below it, a Backup may take a busy Active for a dead one unless the daemon
 * has real-time priority.
 */
const REALTIME_BELOW = 100

/** Functions that record a warning or a note about a key of one router. */
type Sink = {
  warn(key: string, message: string): void
  note(key: string, message: string): void
}

/** Returns the warnings and notes about one router. */
export function advice(placed: Placed, locate: Locate): Remark[] {
  const { router, path } = placed
  const problems: Remark[] = []
  const sink: Sink = {
    warn: (key, message) => problems.push(problemAt(locate, [...path, key], 'warning', message)),
    note: (key, message) => problems.push(noteAt(locate, [...path, key], message)),
  }
  withoutEffect(router, sink)
  timingAdvice(router, sink)
  addressAdvice(router, sink)
  problems.push(...networkAdvice(placed, locate))
  sizeAdvice(router, sink)
  peerAdvice(router, sink)
  problems.push(...staggerAdvice(placed, locate))
  return problems
}

/** Warns of keys that have no effect beside another key. */
function withoutEffect(router: VirtualRouter, { warn }: Sink): void {
  const owner = router.priority === 255
  if (owner && !router.preempt)
    warn(
      'preempt',
      `"preempt: false" has no effect on "${router.name}": an address owner (priority 255) always preempts`,
    )
  if (owner && router.track.some(({ weight }) => weight !== 0))
    warn('track', `Weights have no effect on "${router.name}": the priority of an address owner is always 255`)
  if (!owner && router.startAs === 'active') {
    const unused = [router.preempt ? [] : ['preempt: false'], router.preemptDelay > 0 ? ['preemptDelay'] : []].flat()
    if (unused.length > 0)
      warn('startAs', `"${unused.join('" and "')}" has no effect on "${router.name}" with startAs: active`)
  }
  if (!router.preempt && router.preemptDelay > 0)
    warn('preemptDelay', `"preemptDelay" has no effect on "${router.name}" with preempt: false`)
  const on = nameOfInterface(router)
  if (interfacesIn(router.track).some((tracker) => tracker.interface === on))
    warn('track', `"${router.name}" need not track "${on}": a router is in fault while its own interface is down`)
}

function timingAdvice(router: VirtualRouter, { warn }: Sink): void {
  if (router.advertisementInterval < REALTIME_BELOW)
    warn(
      'advertisementInterval',
      `An interval of ${formatDuration(router.advertisementInterval)} needs real-time priority: ` +
        'without it, a Backup on a busy node may take over from an Active that works; holdfast doctor measures the delays',
    )
  if (router.authentication !== undefined && simplePassword(router.authentication.password).cut)
    warn(
      'authentication',
      `The password of "${router.name}" is cut to its first 8 octets, as the packet has no more room`,
    )
}

function addressAdvice(router: VirtualRouter, { note }: Sink): void {
  if (
    familyOfAll(router.addresses) === 'ipv6' &&
    router.firstAddressLinkLocal === undefined &&
    !routerKnobs(router).firstAddressLinkLocal &&
    router.addresses.every(({ address }) => scopeOf(address) === 'global')
  )
    note(
      'addresses',
      `"${router.name}" has no link-local virtual address. RFC 9568 §5.2.9 requires one as the first address. ` +
        'Other VRRP implementations may reject its advertisements.',
    )
}

/**
 * Warns about the first VIP that is installed with the prefix length of a network. Linux makes such a VIP secondary to
 * the node's own address in that network.
 */
function networkAdvice({ router, path }: Placed, locate: Locate): Remark[] {
  if (ownAddressesOf(router) === 'node' || !installsAsWritten(router)) return []
  const [asNetwork] = allAddresses(router).filter(isIpv4Network)
  if (asNetwork === undefined) return []
  const { entry, path: own } = asNetwork
  const message =
    `${entry.address} is installed as /${entry.prefixLength}, as keepalived does. If the node's own ` +
    'address in that network is removed, Linux removes this one too. Write /32 to avoid it.'
  return [problemAt(locate, [...path, ...own], 'warning', message)]
}

function sizeAdvice(router: VirtualRouter, { warn }: Sink): void {
  const octets = datagramLength({
    addresses: router.addresses.map(({ address }) => address),
    family: familyOfAll(router.addresses),
    version: router.version,
  })
  if (octets > USUAL_MTU)
    warn(
      'addresses',
      `"${router.name}" advertises ${router.addresses.length} addresses in packets of ${octets} octets, ` +
        `more than the usual MTU of ${USUAL_MTU}: only an interface with a larger MTU can send them`,
    )
}

function peerAdvice(router: VirtualRouter, { note, warn }: Sink): void {
  const unicast = unicastOf(router)
  if (unicast === undefined) return
  if (unicast.peers.length === 0)
    warn(
      'transport',
      `"${router.name}" has an empty list of unicast peers: it hears no other router and becomes Active`,
    )
  else if (router.ttlCheck === undefined && !routerKnobs(router).ttlCheck)
    note(
      'transport',
      `"${router.name}" accepts unicast advertisements from outside the LAN. Set "ttlCheck: true" to reject them, if all peers ` +
        'are on this LAN and send TTL 255.',
    )
}

const isIpv4Network = ({ entry: { address, prefixLength = 32 } }: PlacedAddress): boolean =>
  familyOf(address) === 'ipv4' && prefixLength < 32

/**
 * Warns if the stagger may outweigh a difference in priority. The stagger delays Backups of equal priority; a better
 * Backup must still take over first.
 */
function staggerAdvice(placed: Placed, locate: Locate): Remark[] {
  const { router, path } = placed
  if (!routerKnobs(router).stagger || !router.preempt || router.priority === 255) return []
  const { peers, path: listed } = peerList(placed)
  if (peers === undefined)
    return [
      noteAt(
        locate,
        path,
        `no "peers" listed for "${router.name}"; this matters only if two nodes have the same priority`,
      ),
    ]
  const known = peers.filter(({ priority }) => priority !== undefined)
  if (known.length > 0 && known.length < peers.length)
    return [
      problemAt(
        locate,
        listed,
        'warning',
        `the "peers" of "${router.name}" list a priority for some nodes only: a peer without one counts as a node of another priority`,
      ),
    ]
  const interval = router.advertisementInterval
  const step = staggerStep(centis(interval / 10), peers.length)
  // After the Active stopped advertising, one router less competes for the addresses. For this reason the peer that was
  // Active is not counted.
  const rank = known.length > 0 ? known.filter((peer) => peer.priority === router.priority).length : peers.length - 1
  const closer = Math.ceil((rank * step * 256) / interval)
  const lower = known.map(({ priority = 0 }) => router.priority - priority).filter((less) => less > 0)
  // If the list has no priorities, this node may be in it as well. The rank is then one less, and rank 2 is harmless at
  // an interval of 1 s.
  const harmless = known.length > 0 ? !lower.some((less) => less < closer) : closer <= 2
  if (harmless) return []
  const mend = known.length > 0 ? 'set the priorities further apart' : 'list the priority of each peer'
  const message = `the addresses of "${router.name}" may move twice if two priorities differ by less than ${closer}: ${mend}`
  return [problemAt(locate, listed, 'warning', message)]
}
