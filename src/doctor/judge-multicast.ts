/**
 * Judges whether VRRP packets leave this node and arrive, and which routers were heard. This file decides which
 * conclusions one node alone can draw. A packet that is seen on the wire but reaches no socket was dropped by this
 * node. A missing packet proves nothing, because only the Active of a router sends. PURE. Holders of addresses are
 * judged in judge-addresses.ts.
 */
import type { Address, Family } from '../wire/address.ts'
import type { Finding } from './finding.ts'
import {
  type HeardRouter,
  isUnmeasured,
  type LanState,
  type Listening,
  leadsElsewhere,
  type PlannedRouter,
} from './measurement.ts'

const GROUP = { ipv4: '224.0.0.18', ipv6: 'ff02::12' } as const
const NAME = { ipv4: 'IPv4', ipv6: 'IPv6' } as const
/**
 * Number of messages that a doctor on another node sends until it must have received one of this node, if multicast
 * passes in both directions.
 */
const PATIENCE = 3
const ALLOW = 'Allow protocol 112 (nft: meta l4proto 112 accept; firewall-cmd --add-protocol=vrrp)'

/** Judges IPv4 and IPv6. With a configuration, only the families of its routers count. */
export function multicastFindings(lan: LanState, routers: readonly PlannedRouter[]): readonly Finding[] {
  const here = routers.filter((router) => router.interface === lan.interface)
  return (['ipv4', 'ipv6'] as const).flatMap((family) => {
    const wanted = here.filter((router) => router.family === family)
    if (routers.length > 0 && wanted.length === 0) return []
    const listening = lan.listening[family]
    const about = `${lan.interface}, ${NAME[family]}`
    if (isUnmeasured(listening)) {
      const level = wanted.length > 0 ? 'warning' : 'note'
      return [{ check: 'multicast', level, about, found: `not tried: ${listening.unmeasured}` }]
    }
    const multicast = wanted.length === 0 || wanted.some((router) => router.multicast)
    const filters = filterFindings(lan, listening, about)
    return [...filters, ...(multicast ? pathFindings(listening, family, about, wanted) : [])]
  })
}

/** Judges the packet filter of this node. */
function filterFindings(
  lan: LanState,
  { heard, looped, passedOutput, refused }: Listening,
  about: string,
): readonly Finding[] {
  const check = 'packet-filter'
  const findings: Finding[] = []
  if (refused !== undefined) {
    const found = `the packet filter of this node blocks outgoing VRRP packets (${refused}): the daemon would release its addresses after 3 intervals`
    findings.push({ check, level: 'error', about, found, advice: `${ALLOW} in the output rules` })
  }
  const dropped = heard.filter(
    ({ delivered, discard, packets }) => delivered === 0 && packets > 1 && discard === undefined,
  )
  for (const { packets, source } of dropped) {
    const strict = lan.settings.rpFilter === 1 && isElsewhere(lan, source)
    const found = `${packets} advertisements of ${source} arrived, but this node dropped them: ${
      strict ? 'rp_filter is 1 (strict) and the route back uses another interface' : 'a packet filter'
    }; two nodes would become Active`
    const advice = strict ? `sysctl net.ipv4.conf.${lan.interface}.rp_filter=2` : `${ALLOW} in the input rules`
    findings.push({ check, level: 'error', about, found, advice })
  }
  if (looped === false && dropped.length === 0 && refused === undefined) {
    const found =
      'a VRRP packet that this node sent to itself did not arrive: a packet filter of this node drops such packets ' +
      '(or accepts only VRRP packets with TTL 255, which this packet did not have)'
    findings.push({ check, level: 'warning', about, found, advice: `${ALLOW} in the input rules` })
  }
  if (findings.length > 0) return findings
  const came = heard.some(({ delivered }) => delivered > 0) || looped === true
  if (came && passedOutput) {
    const found = 'VRRP packets pass the packet filter of this node in both directions'
    return [{ check, level: 'ok', about, found }]
  }
  const untried = [came ? [] : 'in', passedOutput ? [] : 'out'].flat().join(' or ')
  const found = `not tested while the daemon runs: whether the packet filter of this node lets VRRP packets ${untried}`
  return [{ check, level: 'note', about, found }]
}

const isElsewhere = ({ interface: here, routes }: LanState, source: Address): boolean =>
  routes.some((route) => route.address === source && leadsElsewhere(route, here))

/** Judges what the LAN does to multicast packets. */
function pathFindings(
  { messages, forMs, heard, left }: Listening,
  family: Family,
  about: string,
  wanted: readonly PlannedRouter[],
): readonly Finding[] {
  const check = 'multicast'
  const group = GROUP[family]
  const seconds = (forMs / 1000).toFixed(1)
  const findings: Finding[] = []
  if (messages.failure !== undefined) {
    findings.push({
      check,
      level: 'note',
      about,
      found: `cannot send to ${group} for other doctors: ${messages.failure}`,
    })
  } else if (messages.sent > 0 && messages.left === 0) {
    findings.push({
      check,
      level: 'warning',
      about,
      found: `none of ${messages.sent} packets to ${group} left the interface`,
      advice: 'Check the output rules of this node (nft list ruleset, tc filter)',
    })
  }
  const oneWay = messages.heard.filter(({ hearsUs, packets }) => !hearsUs && packets >= PATIENCE)
  for (const { from } of oneWay) {
    findings.push({
      check,
      level: 'warning',
      about,
      found: `this doctor hears the one on ${from}, which does not hear this one: ${group} passes in one direction only`,
      advice:
        'Check the switches between them (IGMP or MLD snooping without a querier, filters), and at the input rules there',
    })
  }
  const both = messages.heard.filter(({ hearsUs }) => hearsUs).map(({ from }) => from)
  if (both.length > 0)
    findings.push({ check, level: 'ok', about, found: `passes in both directions: doctor on ${both.join(', ')}` })
  const groupSources = [...new Set(heard.filter((one) => one.group).map(({ source }) => source))]
  if (groupSources.length > 0) {
    const found = `advertisements to ${group} arrive from ${groupSources.join(', ')}`
    findings.push({ check, level: 'ok', about, found })
  } else if (both.length === 0) {
    const silent =
      left > 0 ? 'this node is Active, so the others are silent' : 'no node is Active, or packets do not pass'
    const peers = wanted.flatMap((router) => router.peers)
    const whom = peers.length === 0 ? 'another node' : peers.join(', ')
    findings.push({
      check,
      level: 'note',
      about,
      found: `no other router was heard at ${group} in ${seconds} s: ${silent}`,
      advice: `Run holdfast doctor on ${whom} at the same time: two doctors show whether multicast passes in both directions`,
    })
  }
  return findings
}

/**
 * Judges each VRRP router that was heard on the LAN: whether it belongs to a router of the configuration, and whether
 * the two conflict.
 */
export function vridFindings(lan: LanState, routers: readonly PlannedRouter[]): readonly Finding[] {
  const here = routers.filter((router) => router.interface === lan.interface)
  return (['ipv4', 'ipv6'] as const).flatMap((family) => {
    const listening = lan.listening[family]
    if (isUnmeasured(listening)) return []
    const about = `${lan.interface}, ${NAME[family]}`
    const mine = here.filter((router) => router.family === family)
    const found = listening.heard.map((heard) => heardFinding(heard, mine, about))
    return [...found, ...quietVrids(listening, mine, about), ...missed(listening, mine, about)]
  })
}

const sameSet = (one: readonly Address[], other: readonly Address[]): boolean =>
  one.length === other.length && one.every((address) => other.includes(address))

const routerText = ({ addresses, intervalMs, mac, priority, source, version, vrid }: HeardRouter): string =>
  `${source} (${mac}) advertises VRID ${vrid}: VRRPv${version}, priority ${priority}, every ${intervalMs} ms, for ${addresses.length === 0 ? 'no address' : addresses.join(', ')}`

function heardFinding(heard: HeardRouter, mine: readonly PlannedRouter[], about: string): Finding {
  const router = mine.find((one) => one.vrid === heard.vrid)
  return router === undefined ? otherVrid(heard, mine, about) : sameVrid(heard, router, about)
}

/** Judges a router on the LAN whose VRID no router of the configuration has. */
function otherVrid(heard: HeardRouter, mine: readonly PlannedRouter[], about: string): Finding {
  const { addresses, discard, source, vrid } = heard
  const check = 'vrid'
  const ours = mine.filter(({ held }) => held.some(({ address }) => addresses.includes(address)))
  if (ours.length > 0) {
    const found = `${routerText(heard)}: these addresses belong to "${ours.map(({ name }) => name).join('", "')}", which has another VRID`
    return { check, level: 'error', about, found, advice: 'Use the same VRID for an address on all nodes' }
  }
  if (discard !== undefined) {
    const found = `VRID ${vrid} of ${source}: every router discards its packets (${discard})`
    return { check, level: 'note', about, found }
  }
  return { check, level: mine.length === 0 ? 'note' : 'ok', about, found: routerText(heard) }
}

function sameVrid(heard: HeardRouter, router: PlannedRouter, about: string): Finding {
  const { addresses, discard, intervalMs, priority, source, version, vrid } = heard
  const check = 'vrid'
  const named = `"${router.name}"`
  const listed = router.peers.includes(source)
  if (discard !== undefined && discard !== 'version') {
    const found = `${source} (${heard.mac}) advertises VRID ${vrid}, that of ${named}, but every router discards it: ${discard}`
    return {
      check,
      level: 'error',
      about,
      found,
      advice: 'Find out which host sends these packets (holdfast capture shows each packet)',
    }
  }
  if (version !== router.version) {
    const found = `${routerText(heard)}: ${named} has version ${router.version}, so the two ignore each other`
    return { check, level: 'error', about, found, advice: `Set version: ${version}, or choose another VRID` }
  }
  const advertised = router.addresses
  if (!sameSet(addresses, advertised)) {
    const shared = addresses.some((address) => advertised.includes(address))
    const found = `${routerText(heard)}: ${named} has the same VRID for ${advertised.join(', ')}`
    const advice = shared ? 'Write the same addresses on all nodes of the group' : 'Choose an unused VRID'
    return { check, level: shared || listed ? 'warning' : 'error', about, found, advice }
  }
  if (heard.group !== router.multicast) {
    const found = `${routerText(heard)}, by ${heard.group ? 'multicast' : 'unicast'}: ${named} uses ${router.multicast ? 'multicast' : 'unicast'}`
    return { check, level: 'error', about, found, advice: 'Write the same transport on all nodes of the group' }
  }
  if (priority === 255 && router.priority === 255) {
    return {
      check,
      level: 'error',
      about,
      found: `${routerText(heard)}: ${named} also has priority 255, but only one router can be the address owner`,
      advice: 'Use priority 255 only on the node that has the virtual addresses as its own',
    }
  }
  if (intervalMs !== router.intervalMs) {
    const level = router.version === 2 ? 'error' : 'warning'
    const found = `${routerText(heard)}: ${named} has ${router.intervalMs} ms here${router.version === 2 ? ', and version 2 discards packets with another interval' : ''}`
    return { check, level, about, found, advice: 'Write the same interval on all nodes of the group' }
  }
  if (router.peers.length > 0 && !listed) {
    const found = `${routerText(heard)}: it belongs to the group of ${named}, but is not a listed peer (${router.peers.join(', ')})`
    return {
      check,
      level: 'warning',
      about,
      found,
      advice: 'List the sender under peers, or find out which host it is',
    }
  }
  return { check, level: 'ok', about, found: `${routerText(heard)}: a router of the group of ${named}` }
}

function quietVrids({ forMs, heard }: Listening, mine: readonly PlannedRouter[], about: string): readonly Finding[] {
  return mine
    .filter(({ intervalMs, vrid }) => forMs >= 3 * intervalMs && !heard.some((one) => one.vrid === vrid))
    .map(({ name, vrid }) => ({
      check: 'vrid',
      level: 'ok',
      about,
      found: `VRID ${vrid} ("${name}"): no other router heard in at least 3 of its intervals`,
    }))
}

/**
 * Returns a note about routers for which the measurement was shorter than three intervals. Only after three intervals a
 * missing advertisement means something.
 */
function missed({ forMs }: Listening, mine: readonly PlannedRouter[], about: string): readonly Finding[] {
  return mine
    .filter(({ intervalMs }) => forMs < 3 * intervalMs)
    .map(({ intervalMs, name }) => ({
      check: 'vrid',
      level: 'note',
      about,
      found: `listened for ${(forMs / 1000).toFixed(1)} s, less than 3 intervals of "${name}"`,
      advice: `--duration ${Math.ceil((3.1 * intervalMs) / 1000)}s`,
    }))
}
