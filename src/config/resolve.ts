/**
 * Configuration and node together give each router its interface, its source address and its parameters. Pure, so the
 * daemon asks again when the node changes. What can mend itself while running (an interface that a later service
 * makes, an address that DHCP brings) is a warning and a fault of the router; what only an edit can mend is an error.
 * This file does not know sockets, states, or whether a VIP that it sees was installed by us.
 */

import type { Parameters, Peer, Transport } from '../vrrp/parameters.ts'
import { type Address, address } from '../wire/address.ts'
import { centis, type Millis, millis } from '../wire/units.ts'
import type { Config, Track, VirtualRouter } from './config.ts'
import { routerKnobs } from './knobs.ts'
import { ipv4Addresses, type NodeAddress, type NodeView, sameNetwork, servesNetworkOf } from './node-view.ts'
import { type Locate, nowhere, type Path, type Problem, problemAt, type Severity } from './problem.ts'

export type AnnounceSchedule = {
  /** After the takeover; rises from 0. */
  readonly at: readonly Millis[]
  readonly refresh: Millis | undefined
}

export type ResolvedRouter = {
  readonly name: string
  /** Undefined: `auto` found none, or several. */
  readonly interfaceName: string | undefined
  readonly source: Address | undefined
  /** Set: the router must not send. Then `parameters.primaryAddress` may be 0.0.0.0, which says "none yet". */
  readonly fault: 'interfaceMissing' | 'sourceAddressMissing' | undefined
  /** `priority` is the base priority: what is tracked has not been added yet (weights.ts). */
  readonly parameters: Parameters
  readonly announce: AnnounceSchedule
  readonly track: readonly Track[]
}

export type Resolution = { readonly routers: readonly ResolvedRouter[]; readonly problems: readonly Problem[] }

const MULTICAST_GROUP = address('224.0.0.18')
const NO_ADDRESS = address('0.0.0.0')
const ANNOUNCE_AT = [0, 20, 100, 500, 2000, 5000].map(millis)
const ANNOUNCE_REFRESH = millis(60_000)

/** `locate` comes with the parsed text; without it the problems have no position. */
export function resolveRouters(config: Config, node: NodeView, locate: Locate = nowhere): Resolution {
  const problems: Problem[] = []
  const virtual = new Set(
    config.virtualRouters
      .filter(({ priority }) => priority !== 255)
      .flatMap((router) => router.addresses.map((vip) => vip.address)),
  )
  // Never a source and never a reason to choose an interface: it moves away with the VIP.
  const own = node.interfaces.map(
    (found): Interface => ({
      name: found.name,
      all: ipv4Addresses(found),
      own: ipv4Addresses(found).filter((present) => !virtual.has(present.address)),
    }),
  )
  const taken = new Map<string, string>()
  const routers = config.virtualRouters.map((router, index) => {
    const path: Path = ['virtualRouters', index]
    const report: Report = (severity, at, message) =>
      problems.push(problemAt(locate, [...path, ...at], severity, message))
    const resolved = resolveRouter(router, own, report)
    const key = `${resolved.interfaceName} ${router.vrid}`
    const other = taken.get(key)
    // Only `auto` comes here with a VRID in use: for interfaces named in the file the cross checks have said so.
    if (resolved.interfaceName !== undefined && other !== undefined)
      report(
        'error',
        ['vrid'],
        `Cannot use VRID ${router.vrid} twice on "${resolved.interfaceName}": used by "${other}"`,
      )
    else taken.set(key, router.name)
    return resolved
  })
  return { routers, problems }
}

export function environmentProblems(config: Config, node: NodeView, locate: Locate = nowhere): readonly Problem[] {
  return resolveRouters(config, node, locate).problems
}

type Interface = { readonly name: string; readonly all: readonly NodeAddress[]; readonly own: readonly NodeAddress[] }
type Report = (severity: Severity, at: Path, message: string) => void

function resolveRouter(router: VirtualRouter, interfaces: readonly Interface[], report: Report): ResolvedRouter {
  const chosen = chooseInterface(router, interfaces, report)
  const interfaceName = router.interface === 'auto' ? chosen?.name : router.interface
  const source = chosen === undefined ? undefined : chooseSource(router, chosen, report)
  const owned = ownAddresses(router, interfaces, chosen, report)
  const here = new Set<string>(interfaces.flatMap((each) => each.own.map((present) => present.address)))
  const configured = router.transport === 'multicast' ? (router.peers ?? []) : router.transport.unicast.peers
  // So that one file with one peer list serves every node.
  const peers = configured.filter((peer) => !here.has(peer.address)).map(asPeer)
  const fault =
    chosen === undefined ? 'interfaceMissing' : source === undefined || !owned ? 'sourceAddressMissing' : undefined
  return {
    name: router.name,
    interfaceName,
    source,
    fault,
    parameters: {
      vrid: router.vrid,
      family: 'ipv4',
      version: router.version,
      priority: router.priority,
      advertisementInterval: centis(router.advertisementInterval / 10),
      addresses: router.addresses.map((vip) => vip.address),
      preempt: router.preempt,
      preemptDelay: router.preemptDelay,
      minHold: router.minHold,
      primaryAddress: source ?? NO_ADDRESS,
      transport: transportOf(router, configured.length, peers),
      peers,
      knobs: routerKnobs(router),
    },
    announce: announceOf(router),
    track: router.track,
  }
}

const asPeer = ({ address, priority }: { address: Address; priority: number | undefined }): Peer =>
  priority === undefined ? { address } : { address, priority }

function transportOf(router: VirtualRouter, configured: number, peers: readonly Peer[]): Transport {
  // An empty unicast_peer block means multicast there (design.md §3, table).
  const asKeepalived = router.profile === 'keepalived' && configured === 0
  return router.transport === 'multicast' || asKeepalived
    ? { mode: 'multicast', group: MULTICAST_GROUP }
    : { mode: 'unicast', peers }
}

function announceOf({ announce, profile }: VirtualRouter): AnnounceSchedule {
  const once = profile === 'rfc9568'
  const refresh = announce.refresh ?? (once ? false : ANNOUNCE_REFRESH)
  return {
    at: announce.at ?? (once ? [millis(0)] : ANNOUNCE_AT),
    refresh: refresh === false ? undefined : refresh,
  }
}

function chooseInterface(
  router: VirtualRouter,
  interfaces: readonly Interface[],
  report: Report,
): Interface | undefined {
  if (router.interface !== 'auto') {
    const named = interfaces.find(({ name }) => name === router.interface)
    if (named === undefined)
      report(
        'warning',
        ['interface'],
        `Cannot find interface "${router.interface}" for "${router.name}": the router is in fault until it appears`,
      )
    return named
  }
  const [first] = router.addresses
  if (first === undefined) return undefined
  const found = interfaces.filter(({ own }) => own.some((present) => servesNetworkOf(present, first)))
  if (found.length === 1) return found[0]
  if (found.length === 0)
    report(
      'warning',
      ['interface'],
      `Cannot find an interface in the network of ${first.address} for "${router.name}": ` +
        'the router is in fault until there is one',
    )
  else
    report(
      'error',
      ['interface'],
      `Cannot choose an interface for "${router.name}": ${found.map(({ name }) => name).join(' and ')} are both ` +
        `in the network of ${first.address}, name one`,
    )
  return undefined
}

function chooseSource(router: VirtualRouter, chosen: Interface, report: Report): Address | undefined {
  const wanted = router.transport === 'multicast' ? 'auto' : router.transport.unicast.source
  if (wanted !== 'auto') {
    if (chosen.own.some((present) => present.address === wanted)) return wanted
    report(
      'warning',
      ['transport', 'unicast', 'source'],
      `Cannot send from ${wanted} on "${chosen.name}": it does not have this address, "${router.name}" is in fault until then`,
    )
    return undefined
  }
  const [first] = router.addresses
  const near = chosen.own.find((present) => first !== undefined && servesNetworkOf(present, first))
  const source = near ?? chosen.own[0]
  if (source === undefined)
    report(
      'warning',
      ['interface'],
      `Cannot send from "${chosen.name}": it has no IPv4 address of its own, "${router.name}" is in fault until then`,
    )
  return source?.address
}

/**
 * An owner (255) has its addresses; nobody else may. A /32, or a further address of a network that the node is in
 * anyway, is taken for a VIP that an earlier life or another daemon left: the sweep removes it.
 */
function ownAddresses(
  router: VirtualRouter,
  interfaces: readonly Interface[],
  chosen: Interface | undefined,
  report: Report,
): boolean {
  let complete = true
  for (const [index, vip] of router.addresses.entries()) {
    if (router.priority === 255) {
      if (chosen === undefined || chosen.all.some((present) => present.address === vip.address)) continue
      complete = false
      report(
        'warning',
        ['addresses', index],
        `Cannot own ${vip.address}: "${chosen.name}" does not have it, "${router.name}" is in fault until then`,
      )
      continue
    }
    for (const { name, all, own } of interfaces)
      for (const present of all) {
        if (present.address !== vip.address) continue
        // Beside an own address a /32 is a leftover; alone it is what the node lives on.
        if (present.prefixLength === 32 && own.length > 0) continue
        const further = own.some((other) => sameNetwork(present.address, present.prefixLength, other.address))
        report(
          further ? 'warning' : 'error',
          ['addresses', index],
          further
            ? `Found ${vip.address}/${present.prefixLength} on "${name}": it will be removed, because it is a virtual address`
            : `Cannot use ${vip.address} as a virtual address: it is the own address of "${name}" ` +
                '(the owner of an address has priority 255)',
        )
      }
  }
  return complete
}
