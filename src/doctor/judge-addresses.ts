/**
 * Judges which hosts answer for virtual addresses, and which other hosts have an address of this node. This file
 * decides when an answer is normal, and which host a MAC belongs to. The owner of a MAC is a router that was heard, a
 * peer that answered for its own address, or a virtual router. PURE. This file knows nothing about ARP and Neighbor
 * Discovery.
 */
import { type Address, familyOf } from '../wire/address.ts'
import { type Mac, virtualRouterMac } from '../wire/mac.ts'
import type { Finding } from './finding.ts'
import { isUnmeasured, type LanState, type PlannedRouter } from './measurement.ts'

export function addressFindings(lans: readonly LanState[], routers: readonly PlannedRouter[]): readonly Finding[] {
  return lans.flatMap((lan) => [
    ...primaryFindings(lan, routers),
    ...routers.filter((router) => router.interface === lan.interface).flatMap((router) => peerFindings(lan, router)),
    ...routers.flatMap((router) => virtualFindings(lan, router)),
  ])
}

const isVirtual = (routers: readonly PlannedRouter[], address: Address): boolean =>
  routers.some(({ held, owner }) => !owner && held.some((one) => one.address === address))

const askedFor = ({ asked }: LanState, address: Address): number =>
  asked.find((one) => one.address === address)?.times ?? 0

const holdersOf = ({ claims }: LanState, address: Address): readonly Mac[] =>
  claims.filter((claim) => claim.address === address).map(({ mac }) => mac)

/** Judges the node's own addresses (RFC 5227 §2.1.1, §2.4; RFC 4862 §5.4). */
function primaryFindings(lan: LanState, routers: readonly PlannedRouter[]): readonly Finding[] {
  const { interface: about, own } = lan
  const check = 'primary-address'
  const primary = own.filter(({ address }) => !isVirtual(routers, address))
  const failed = primary.filter(({ dadFailed }) => dadFailed)
  const duplicates = primary.flatMap(({ address }) => {
    const macs = holdersOf(lan, address)
    return macs.length === 0 ? [] : [{ address, macs }]
  })
  const quiet = primary.filter(({ address }) => askedFor(lan, address) > 0 && holdersOf(lan, address).length === 0)
  return [
    ...failed.map(({ address }): Finding => {
      const found = `duplicate address detection has found another host with ${address}: the kernel does not use the address`
      return { check, level: 'error', about, found, advice: 'Give this node or the other host another address' }
    }),
    ...duplicates.map(({ address, macs }): Finding => {
      const found = `${address} belongs to this node, but ${macs.join(', ')} also answers for it`
      const advice =
        'Give this node or the other host another address: two routers with the same source address ignore packets of each other'
      return { check, level: 'error', about, found, advice }
    }),
    ...(quiet.length === 0
      ? []
      : [
          {
            check,
            level: 'ok',
            about,
            found: `no other host has ${quiet.map(({ address }) => address).join(', ')}`,
          } as const,
        ]),
  ]
}

function peerFindings(lan: LanState, { name, peers }: PlannedRouter): readonly Finding[] {
  const silent = peers.filter((peer) => askedFor(lan, peer) > 0 && holdersOf(lan, peer).length === 0)
  const there = peers.filter((peer) => holdersOf(lan, peer).length > 0)
  const check = 'peers'
  return [
    ...(there.length === 0
      ? []
      : [{ check, level: 'ok', about: name, found: `peers that answer: ${there.join(', ')}` } as const]),
    ...(silent.length === 0
      ? []
      : [
          {
            check,
            level: 'note',
            about: name,
            found: `peers that do not answer: ${silent.join(', ')}`,
            advice: 'Silent peers are off, in another network, or no longer in use; remove unused peers from the list',
          } as const,
        ]),
  ]
}

type Known = { readonly mac: Mac; readonly who: string; readonly kind: 'router' | 'peer' | 'virtual' | 'unknown' }

function virtualFindings(lan: LanState, router: PlannedRouter): readonly Finding[] {
  if (router.owner) return []
  return router.held
    .filter((held) => (held.interface ?? router.interface) === lan.interface && askedFor(lan, held.address) > 0)
    .map(({ address }) => virtualFinding(lan, router, address))
}

function virtualFinding(lan: LanState, router: PlannedRouter, address: Address): Finding {
  const check = 'virtual-address'
  const about = router.name
  const here = lan.own.some((one) => one.address === address)
  const macs = holdersOf(lan, address)
  const known = macs.map((mac) => whoIs(mac, lan, router))
  const who = known.map((one) => `${one.mac} (${one.who})`).join(' and ')
  const heard = heardActive(lan, router, address)
  if (here && macs.length > 0) {
    const found = `${address} is on this node, but ${who} also answers for it`
    const advice =
      'Two nodes hold the address: run holdfast status on both, and check whether they receive packets of each other'
    return { check, level: 'error', about, found, advice }
  }
  if (here) return { check, level: 'ok', about, found: `${address} is on this node, and no other host answers for it` }
  if (macs.length > 1) {
    const found = `${macs.length} hosts answer for ${address}: ${who}`
    return { check, level: 'error', about, found, advice: 'Find out which of these hosts may have the address' }
  }
  const [one] = known
  if (one === undefined) {
    if (heard === undefined) return { check, level: 'ok', about, found: `no host answers for ${address} yet` }
    const found = `${heard} advertises ${address}, but no host answers for it`
    return {
      check,
      level: 'warning',
      about,
      found,
      advice: 'Check the node that advertises the address: the address is missing there, or ARP is filtered',
    }
  }
  if (heard === undefined && !listenedLongEnough(lan, router)) {
    const found = `${who} answers for ${address}, and no router advertised ${address}; that proves nothing yet, because the measurement lasted less than 3 advertisement intervals`
    return { check, level: 'note', about, found, advice: 'Measure for longer (--duration)' }
  }
  if (one.kind === 'unknown') {
    const found = `${who} answers for ${address}, but no router was heard to advertise it`
    const advice =
      'Another host has the address: remove it there, or choose another one (duplicateAllowed is for proxies)'
    return { check, level: 'error', about, found, advice }
  }
  if (one.kind === 'peer' && heard === undefined) {
    const found = `${who} answers for ${address}, but its advertisements do not arrive: this node would also become Active`
    const advice = router.multicast
      ? 'Find what stops multicast between the two nodes (packet filter, IGMP or MLD snooping), or use unicast'
      : 'List this node among the peers there, and check packet filters'
    return { check, level: 'error', about, found, advice }
  }
  return { check, level: 'ok', about, found: `${who} answers for ${address}` }
}

function listenedLongEnough({ listening }: LanState, { family, intervalMs }: PlannedRouter): boolean {
  const on = listening[family]
  return !isUnmeasured(on) && on.forMs >= 3 * intervalMs
}

/**
 * Returns the source address of the router that advertises this VRID and address. If no packet has the address, the
 * other addresses of the router count.
 */
function heardActive(
  { listening }: LanState,
  { addresses, family, vrid }: PlannedRouter,
  address: Address,
): string | undefined {
  const on = listening[family]
  if (isUnmeasured(on)) return undefined
  const wanted = addresses.includes(address) ? [address] : addresses
  return on.heard.find((one) => one.vrid === vrid && one.addresses.some((each) => wanted.includes(each)))?.source
}

function whoIs(mac: Mac, lan: LanState, { family, peers, vrid }: PlannedRouter): Known {
  const on = lan.listening[family]
  const router = isUnmeasured(on) ? undefined : on.heard.find((one) => one.mac === mac && one.vrid === vrid)
  if (router !== undefined) {
    const listed = peers.length === 0 || peers.includes(router.source) ? '' : ', not a listed peer'
    return {
      mac,
      kind: 'router',
      who: `${router.source}, Active of VRID ${vrid} with priority ${router.priority}${listed}`,
    }
  }
  const peer = peers.find((one) => lan.claims.some((claim) => claim.address === one && claim.mac === mac))
  if (peer !== undefined) return { mac, kind: 'peer', who: `the peer ${peer}` }
  if (mac === virtualRouterMac(vrid, family)) return { mac, kind: 'virtual', who: `the virtual MAC of VRID ${vrid}` }
  const addresses = lan.claims
    .filter((claim) => claim.mac === mac && !isHeld(claim.address, lan))
    .map(({ address }) => address)
  const alias = addresses.filter((address) => familyOf(address) === family)
  return {
    mac,
    kind: 'unknown',
    who: alias.length > 1 ? `a host that also has ${alias.slice(0, 3).join(', ')}` : 'an unknown host',
  }
}

const isHeld = (address: Address, { own }: LanState): boolean => own.some((one) => one.address === address)
