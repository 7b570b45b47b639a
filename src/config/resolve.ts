/**
 * Combines configuration and node: each router gets its interface, its source address and its parameters. The function
 * is pure, so the daemon calls it again when the node changes. A state that may change while the daemon runs is a
 * warning and a fault of the router, such as an interface that does not exist yet. A state that only an edit of the
 * file changes is an error. This file does not know sockets, states, or which program installed a VIP.
 */
import { defined } from '../base/defined.ts'
import type { NotifyPrograms } from '../notify/notification.ts'
import { type Authentication, simplePassword } from '../vrrp/authentication.ts'
import type { OnDuplicate } from '../vrrp/extensions/duplicate.ts'
import type { Parameters, Peer, Transport } from '../vrrp/parameters.ts'
import { optionsOf } from '../vrrp/profile.ts'
import { type Address, address, type Family, isLinkLocal } from '../wire/address.ts'
import type { Mac } from '../wire/mac.ts'
import { centis, millis } from '../wire/units.ts'
import { checkOwnAddresses, type LeaveAlone } from './advice/own-address.ts'
import { chooseInterface, chooseSource, usesMulticast } from './choice.ts'
import type { Config, SyncGroup, Track, VirtualRouter } from './config.ts'
import { datagramLength } from './datagram.ts'
import { chooseHolder, type Held, holdingOf, nameOfInterface } from './holding.ts'
import type { NamedAddress } from './named-address.ts'
import { familyName, familyOfAll } from './network.ts'
import { type NodeView, type OwnInterface, type OwnViews, ownView } from './node-view.ts'
import { type Locate, nowhere, type Path, type Problem, problemAt, type Report } from './problem.ts'
import { type AnnounceSchedule, announceSchedule } from './schema/announce.ts'
import { routerKnobs } from './schema/knobs.ts'
import { type ConfiguredPeer, unicastOf } from './schema/transport.ts'
import { type AddressForm, addressForms, ownAddressesOf } from './schema/virtual-address.ts'

export type ResolvedRouter = {
  readonly name: string
  /** Name of the router's sync group; `undefined` if the router is in no group. */
  readonly group: string | undefined
  /** Interface name; `undefined` if `auto` found none or several, or no interface has the address of `holding`. */
  readonly interfaceName: string | undefined
  /** Address and interface that `interface: { holding: … }` found; `undefined` if the router does not use `holding`. */
  readonly held: Held | undefined
  readonly source: Address | undefined
  /**
   * Reason why the router must not send. With a fault, `parameters.primaryAddress` may be 0.0.0.0 or ::. `vridTaken`:
   * an earlier router in the file has this VRID on the same interface and family.
   */
  readonly fault: 'interfaceMissing' | 'sourceAddressMissing' | 'vridTaken' | undefined
  /** Text of the configuration key `fault`, which keeps the router out of the election. */
  readonly configuredFault: string | undefined
  /** How each of `parameters.addresses` is installed (interface, prefix length), in the order of the configuration. */
  readonly forms: readonly AddressForm[]
  /** Parameters of the state machine. `priority` is the base priority, without the weights of trackers (weights.ts). */
  readonly parameters: Parameters
  readonly announce: AnnounceSchedule
  /** Announcement schedule for excluded addresses of the other family than the router's. */
  readonly announceOther: AnnounceSchedule
  readonly onDuplicate: OnDuplicate
  readonly duplicateAllowed: readonly Mac[]
  /** `auto`: the kernel removes VIPs that the guardian does not renew. `off`: the kernel never removes a VIP. */
  readonly lifetime: 'auto' | 'off'
  /** Trackers of the router and of its group. Weights of a single member are left out (VR-SG-04). */
  readonly track: readonly Track[]
  /** Programs that run when the router changes its state. */
  readonly notify: NotifyPrograms | undefined
}

export type Resolution = {
  readonly routers: readonly ResolvedRouter[]
  readonly problems: readonly Problem[]
  /**
   * Configuration to put in force. An address owner (255) whose VIPs are the node's own addresses has
   * `ownAddresses: node` there. The value `node` is decided only when the configuration is read: later, a VIP that the
   * daemon installed could look like the node's own address.
   */
  readonly config: Config
}

/** Multicast groups (RFC 9568 §5.1.1.2, §5.1.2.2). */
const GROUP: Readonly<Record<Family, Address>> = { ipv4: address('224.0.0.18'), ipv6: address('ff02::12') }
const NO_ADDRESS: Readonly<Record<Family, Address>> = { ipv4: address('0.0.0.0'), ipv6: address('::') }
/** The addresses of this node, and the contents of its address files. */
type OwnNode = { readonly views: OwnViews; readonly files: ReadonlyMap<string, NamedAddress> }

/**
 * Returns each router with its interface, addresses and parameters, and the problems. Without `locate`, the problems
 * have no position.
 */
export function resolveRouters(config: Config, node: NodeView, locate: Locate = nowhere): Resolution {
  const problems: Problem[] = []
  const virtual = new Map(
    config.virtualRouters
      .filter((router) => ownAddressesOf(router) !== 'node')
      .flatMap(addressForms)
      .map(({ address, prefixLength }) => [address, prefixLength] as const),
  )
  const views = { ipv4: ownView(node, 'ipv4', virtual), ipv6: ownView(node, 'ipv6', virtual) }
  const { files = new Map<string, NamedAddress>() } = node
  const groups = new Map(config.syncGroups.flatMap((group) => group.members.map((member) => [member, group] as const)))
  const taken = new Map<string, string>()
  const ownedByNode = new Map<string, Problem[]>()
  const routers = config.virtualRouters.map((router, index): ResolvedRouter => {
    const path: Path = ['virtualRouters', index]
    const report: Report = (severity, at, message) =>
      problems.push(problemAt(locate, [...path, ...at], severity, message))
    const family = familyOfAll(router.addresses)
    const leaveAlone: LeaveAlone = (at, message) => {
      const told = problemAt(locate, [...path, ...at], 'warning', message)
      ownedByNode.set(router.name, [...(ownedByNode.get(router.name) ?? []), told])
    }
    const resolved = resolveRouter(router, groups.get(router.name), { views, files }, report, leaveAlone)
    const { interfaceName } = resolved
    const key = `${interfaceName} ${family} ${router.vrid}`
    const other = taken.get(key)
    if (interfaceName === undefined || other === undefined) {
      taken.set(key, router.name)
      return resolved
    }
    // Repeated VRIDs on named interfaces are reported by the cross checks; here, only routers without an interface name
    // are compared.
    report(
      'error',
      ['vrid'],
      `vrid of "${router.name}": cannot use ${router.vrid}, which "${other}" uses on "${interfaceName}", ` +
        `expected another VRID for each router of ${familyName(family)}`,
    )
    return { ...resolved, fault: 'vridTaken' }
  })
  if (ownedByNode.size === 0) return { routers, problems, config }
  // The remaining problems are those of the configuration that will take effect.
  const settled = resolveRouters(leftAlone(config, new Set(ownedByNode.keys())), node, locate)
  return { routers, problems: [...[...ownedByNode.values()].flat(), ...settled.problems], config: settled.config }
}

const leftAlone = (config: Config, names: ReadonlySet<string>): Config => ({
  ...config,
  virtualRouters: config.virtualRouters.map((router) =>
    names.has(router.name) ? { ...router, ownAddresses: 'node' } : router,
  ),
})

/** Returns the problems of a configuration that depend on this node. */
export function environmentProblems(config: Config, node: NodeView, locate: Locate = nowhere): readonly Problem[] {
  return resolveRouters(config, node, locate).problems
}

type Place = Pick<ResolvedRouter, 'interfaceName' | 'held' | 'source' | 'fault'> & {
  readonly chosen: OwnInterface | undefined
  /** Peers of the router in the configuration, without this node's own addresses. */
  readonly peers: readonly Peer[]
}

function resolveRouter(
  router: VirtualRouter,
  group: SyncGroup | undefined,
  node: OwnNode,
  report: Report,
  leaveAlone: LeaveAlone,
): ResolvedRouter {
  const family = familyOfAll(router.addresses)
  const { chosen, peers, ...place } = placeOf(router, family, node, report, leaveAlone)
  const parameters = parametersOf(router, family, place.source, peers)
  checkLength(router, parameters, chosen, report)
  return {
    ...place,
    name: router.name,
    group: group?.name,
    configuredFault: router.fault,
    parameters,
    forms: addressForms(router),
    announce: announceSchedule(router.announce, router.profile, family),
    announceOther: announceSchedule(router.announce, router.profile, family === 'ipv4' ? 'ipv6' : 'ipv4'),
    onDuplicate: router.onDuplicate,
    duplicateAllowed: router.duplicateAllowed,
    lifetime: router.lifetime,
    track: trackOf(router, group),
    notify: router.notify,
  }
}

/** Returns the interface, the source address and the peers of a router on this node. */
function placeOf(
  router: VirtualRouter,
  family: Family,
  { views, files }: OwnNode,
  report: Report,
  leaveAlone: LeaveAlone,
): Place {
  const view = views[family]
  const holding = holdingOf(router)
  const { chosen, held }: { chosen: OwnInterface | undefined; held?: Held } =
    holding === undefined
      ? { chosen: chooseInterface(router, view.interfaces, report) }
      : chooseHolder(router, holding, view, files, report)
  const source = chosen === undefined ? undefined : chooseSource(router, chosen, held?.address, report)
  const owned = checkOwnAddresses(router, views, chosen, report, leaveAlone)
  const configured: readonly ConfiguredPeer[] = unicastOf(router)?.peers ?? router.peers ?? []
  // The node's own addresses in a peer list are skipped, so every node can have the same list.
  const isHere = (peer: Address) =>
    isLinkLocal(peer) ? chosen?.own.some(({ address }) => address === peer) === true : view.own.has(peer)
  const peers = configured.filter((peer) => !isHere(peer.address)).map(asPeer)
  const fault =
    chosen === undefined ? 'interfaceMissing' : source === undefined || !owned ? 'sourceAddressMissing' : undefined
  return { chosen, interfaceName: nameOfInterface(router) ?? chosen?.name, held, source, fault, peers }
}

const parametersOf = (
  router: VirtualRouter,
  family: Family,
  source: Address | undefined,
  peers: readonly Peer[],
): Parameters => ({
  vrid: router.vrid,
  family,
  version: router.version,
  priority: router.priority,
  basePriority: router.priority,
  ownAddresses: ownAddressesOf(router),
  advertisementInterval: centis(router.advertisementInterval / 10),
  ...addressesOf(router),
  ...preemptionOf(router),
  minHold: router.minHold,
  margin: router.margin,
  primaryAddress: source ?? NO_ADDRESS[family],
  transport: transportOf(router, family, peers),
  peers,
  ...optionsOf(routerKnobs(router), router.version),
  authentication: authenticationOf(router),
  phase: phaseOf(router),
})

/**
 * An advertisement must fit in one packet. An MTU of 0 is unknown. If the MTU shrinks later, the router is in fault
 * (daemon/circumstances.ts).
 */
function checkLength(
  { addresses, name }: VirtualRouter,
  parameters: Parameters,
  chosen: OwnInterface | undefined,
  report: Report,
): void {
  const mtu = chosen?.mtu ?? 0
  const length = datagramLength(parameters)
  if (mtu === 0 || length <= mtu) return
  report(
    'error',
    ['addresses'],
    `addresses of "${name}": cannot advertise ${addresses.length} on "${chosen?.name}" in one packet of ${length} octets, ` +
      `expected at most ${mtu} octets (the MTU); use two routers`,
  )
}

const asPeer = ({ address, priority, minTtl, maxTtl }: ConfiguredPeer): Peer => ({
  address,
  ...defined({ priority }),
  ...(minTtl === undefined && maxTtl === undefined ? {} : { ttl: { least: minTtl ?? 0, most: maxTtl ?? 255 } }),
})

function addressesOf(router: VirtualRouter): Pick<Parameters, 'addresses' | 'advertised'> {
  const advertised = inPacketOrder(router)
  if (router.excludedAddresses.length === 0) return { addresses: advertised }
  return { addresses: [...advertised, ...router.excludedAddresses.map(({ address }) => address)], advertised }
}

/** RFC 9568 §5.2.9: the link-local address is first in the packet, wherever it is in the configuration (VR-TX-04). */
function inPacketOrder(router: VirtualRouter): readonly Address[] {
  const addresses = router.addresses.map((vip) => vip.address)
  const first = addresses.find(isLinkLocal)
  return first === undefined ? addresses : [first, ...addresses.filter((each) => each !== first)]
}

function transportOf(router: VirtualRouter, family: Family, peers: readonly Peer[]): Transport {
  if (usesMulticast(router)) return { mode: 'multicast', group: GROUP[family] }
  const { ttl = 255 } = unicastOf(router) ?? {}
  return { mode: 'unicast', peers, ...(ttl === 255 ? {} : { ttl }) }
}

function authenticationOf({ authentication }: VirtualRouter): Authentication | undefined {
  return authentication === undefined ? undefined : simplePassword(authentication.password).authentication
}

/**
 * Returns the share of the interval at which the router sends. The share is computed from the VRID alone, so that a
 * reload does not change it. Steps of the golden section spread any number of routers evenly. Early values are left
 * out, because an Active has sent its first advertisement just before. The share is a multiple of 1/32: so about ten of
 * 255 routers share one wake-up and one system call.
 */
function phaseOf({ vrid, profile }: VirtualRouter): number {
  if (profile === 'rfc9568') return 1
  return Math.ceil(32 * (1 - 0.75 * ((vrid * 0.6180339887) % 1))) / 32
}

/** VR-PRE-01, VR-PRE-03: below priority 255, keepalived's initial state has no other meaning (VR-CFG-03). */
const preemptionOf = ({
  preempt,
  preemptDelay,
  startAs,
}: VirtualRouter): Pick<Parameters, 'preempt' | 'preemptDelay'> =>
  startAs === 'active' ? { preempt: true, preemptDelay: millis(0) } : { preempt, preemptDelay }

/** Returns the trackers that take effect. A weight of one member would separate it from its sync group (VR-SG-04). */
function trackOf({ track }: VirtualRouter, group: SyncGroup | undefined): readonly Track[] {
  return group === undefined ? track : [...track.filter(({ weight }) => weight === 0), ...group.track]
}
