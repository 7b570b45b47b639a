/**
 * What works but will surprise: the warnings and notes of `holdfast check` about one router. Nothing here keeps a configuration
 * from being used. This file knows neither the other routers nor the node.
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

/** Below this a scheduler that is busy elsewhere can look like a dead Active. */
const REALTIME_BELOW = 100

/** Where a warning or a note of one router goes. */
type Sink = {
  warn(key: string, message: string): void
  note(key: string, message: string): void
}

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

/** Warns of keys that change nothing beside another key. */
function withoutEffect(router: VirtualRouter, { warn }: Sink): void {
  const owner = router.priority === 255
  if (owner && !router.preempt)
    warn('preempt', `"preempt: false" has no effect on "${router.name}": an address owner always preempts`)
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
    warn('track', `"${router.name}" need not track "${on}": it is in fault without its own interface anyway`)
}

function timingAdvice(router: VirtualRouter, { warn }: Sink): void {
  if (router.advertisementInterval < REALTIME_BELOW)
    warn(
      'advertisementInterval',
      `An interval of ${formatDuration(router.advertisementInterval)} asks for real-time priority: ` +
        'on a busy node ordinary scheduling may let a Backup take over from a living Active; holdfast doctor measures it',
    )
  if (router.authentication !== undefined && simplePassword(router.authentication.password).cut)
    warn('authentication', `Only the first 8 octets of the password of "${router.name}" count`)
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
      `"${router.name}" has no link-local virtual address, which RFC 9568 §5.2.9 wants first; routers of another make may ` +
        'refuse its advertisements',
    )
}

/** Warns of the first address that is installed with the prefix of a network: it is then secondary to the node's own. */
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
      `"${router.name}" advertises ${router.addresses.length} addresses in packets of ${octets} octets: ` +
        `an interface with the usual MTU of ${USUAL_MTU} cannot carry them`,
    )
}

function peerAdvice(router: VirtualRouter, { note, warn }: Sink): void {
  const unicast = unicastOf(router)
  if (unicast === undefined) return
  if (unicast.peers.length === 0)
    warn('transport', `"${router.name}" has no unicast peers: it will be alone and become Active`)
  else if (router.ttlCheck === undefined && !routerKnobs(router).ttlCheck)
    note(
      'transport',
      `"${router.name}" accepts unicast advertisements from beyond the LAN; "ttlCheck: true" refuses them, if all peers ` +
        'are on this LAN and send TTL 255',
    )
}

const isIpv4Network = ({ entry: { address, prefixLength = 32 } }: PlacedAddress): boolean =>
  familyOf(address) === 'ipv4' && prefixLength < 32

/** Stagger is meant for equals; it must not use up the Skew_Time by which a better router comes first. */
function staggerAdvice(placed: Placed, locate: Locate): Remark[] {
  const { router, path } = placed
  if (!routerKnobs(router).stagger || !router.preempt || router.priority === 255) return []
  const { peers, path: listed } = peerList(placed)
  if (peers === undefined)
    return [
      noteAt(locate, path, `no "peers" listed for "${router.name}"; only matters if two nodes have the same priority`),
    ]
  const known = peers.filter(({ priority }) => priority !== undefined)
  if (known.length > 0 && known.length < peers.length)
    return [
      problemAt(
        locate,
        listed,
        'warning',
        `"${router.name}" knows the priority of some peers only: those without one are taken for unequal`,
      ),
    ]
  const interval = router.advertisementInterval
  const step = staggerStep(centis(interval / 10), peers.length)
  // The Active that fell silent is one of the peers and does not count.
  const rank = known.length > 0 ? known.filter((peer) => peer.priority === router.priority).length : peers.length - 1
  const closer = Math.ceil((rank * step * 256) / interval)
  const lower = known.map(({ priority = 0 }) => router.priority - priority).filter((less) => less > 0)
  // Unknown priorities: the list may hold this node too, and one less in rank makes 2 harmless at 1s.
  const harmless = known.length > 0 ? !lower.some((less) => less < closer) : closer <= 2
  if (harmless) return []
  const mend = known.length > 0 ? 'set them further apart' : 'give each peer its priority'
  const message = `"${router.name}" may move twice when priorities differ by less than ${closer}: ${mend}`
  return [problemAt(locate, listed, 'warning', message)]
}
