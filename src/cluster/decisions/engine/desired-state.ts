/**
 * Computes the configuration for this node's engine from the cluster and the machine. This file decides in which
 * virtual routers the node takes part, and with which peers. If too little is known, the reason is returned, and the
 * earlier configuration stays. This file knows nothing about when a configuration is handed over (debounce.ts), and how
 * peers became known (peers.ts).
 */
import { hostPrefixLength } from '../../../config/network.ts'
import { type Address, address, type Family, familyOf } from '../../../wire/address.ts'
import { hasAddress, type NodeView } from '../node-ip/selection.ts'
import type { Desired, Instance, InstanceGroup, Role } from './desired.ts'
import type { PeerWishes } from './peer-address.ts'
import { addressesOf, groupOf, type PeerNode } from './peers.ts'
import { allVips, type VipPair } from './vip-pairs.ts'
import { type Service, type Vrids, vridsOf } from './vrid.ts'
import { type AddressFiles, type Attachment, machineNetwork, vrrpInterface } from './vrrp-interface.ts'

export type Mode = 'unicast' | 'multicast'

/** Number of nodes that may have the API's address, in the terms of the Infrastructure resource. */
export type Topology = 'HighlyAvailable' | 'HighlyAvailableArbiter' | 'DualReplica' | 'SingleReplica'

/** Properties of the cluster that do not change while an agent runs. */
export type Cluster = {
  readonly name: string
  /** VRIDs that replace those computed from the cluster's name. */
  readonly vrids: Vrids | undefined
  /** Role of this node; `undefined`: the labels of the Node object decide. */
  readonly role: Role | undefined
  /** Name of this node in the API; empty if not known. */
  readonly nodeName: string
  readonly pairs: readonly VipPair[]
  readonly topology: Topology
  /** True if the VIPs of both families of a service move together. */
  readonly grouped: boolean
}

/** Interfaces and addresses of this machine at present. */
export type Machine = {
  readonly node: NodeView
  readonly files: AddressFiles
  /** True if this node is in another LAN than the VIPs (node-ip/files.ts). */
  readonly remoteWorker: boolean
}

export type Known = {
  readonly cluster: Cluster
  readonly machine: Machine
  readonly peers: readonly PeerNode[]
  /** For each service (API, ingress): true if holdfast holds an address for it. */
  readonly intent: Readonly<Record<Service, boolean>>
  readonly mode: Mode
  /**
   * Last configuration of the engine. While no interface of the machine fits a pair of VIPs, the interface from this
   * configuration is used.
   */
  readonly earlier: Desired | undefined
}

/** `desired`: the configuration, or `undefined` if too little is known. `notes`: the reasons, and warnings. */
export type Decision = { readonly desired: Desired | undefined; readonly notes: readonly string[] }

const PRIORITY: Readonly<Record<Service, number>> = { api: 40, ingress: 20 }
/** Priority of the bootstrap node. No other node reaches this priority, even if all its checks are up. */
const BOOTSTRAP_PRIORITY = 70
/**
 * Smallest number of known control plane nodes for unicast. If fewer are known, the other nodes may not know this node
 * either.
 */
const FEWEST = 2

/** Address in an otherwise empty list of peers. With an empty list, keepalived would use multicast. */
const NOBODY: Readonly<Record<Family, Address>> = { ipv4: address('0.0.0.0'), ipv6: address('::') }

const SERVICES: readonly Service[] = ['api', 'ingress']

/** Returns the configuration of this node's engine. */
export function desiredState(known: Known): Decision {
  const { cluster, machine } = known
  const role = roleOf(known)
  const vrids = cluster.vrids ?? vridsOf(cluster.name)
  if (vrids === undefined)
    return { desired: undefined, notes: ['Cannot compute VRIDs: the name of the cluster is empty'] }
  const of = (instances: readonly Instance[]): Desired => ({
    clusterName: cluster.name,
    role,
    instances,
    groups: groupsOf(instances, cluster),
  })
  if (machine.remoteWorker)
    return { desired: of([]), notes: ['This node is a remote worker: it is not in the LAN of the VIPs'] }
  if (!known.intent.api && !known.intent.ingress) return { desired: of([]), notes: [] }
  const held = tooFew(known)
  if (held !== undefined) return { desired: undefined, notes: [held] }
  const notes: string[] = []
  const wanted = SERVICES.filter((service) => takesPart(role, service) && known.intent[service])
  const instances = wanted.flatMap((service) =>
    cluster.pairs.flatMap((pair) => instanceOf(known, service, pair, vrids[service], notes) ?? []),
  )
  const nowhere = instances.length === 0 && notes.some((note) => note.startsWith('Cannot'))
  return { desired: nowhere ? undefined : of(instances), notes: [...new Set(notes)] }
}

/** Returns how peers are found on this machine, for each family of the VIPs. */
export function peerWishes({ cluster, machine }: Pick<Known, 'cluster' | 'machine'>): readonly PeerWishes[] {
  const vips = allVips(cluster.pairs)
  return cluster.pairs.flatMap((pair) => {
    const [first] = vipsOf(pair)
    if (first === undefined) return []
    const place = placeOf(machine, pair, vips)
    return {
      family: pair.family,
      vips,
      network: machineNetwork(machine.node, first, vips),
      own: typeof place === 'string' ? undefined : place.source,
    }
  })
}

/**
 * Returns the role of this node in the cluster. The API's entry for the node is found by the node's name, otherwise by
 * its address. A node that is not registered is not a control plane node yet.
 */
export function roleOf({ cluster, machine, peers }: Pick<Known, 'cluster' | 'machine' | 'peers'>): Role {
  const { role, nodeName, topology } = cluster
  if (role !== undefined) return role
  const own = peerWishes({ cluster, machine }).flatMap((wish) => wish.own ?? [])
  const registered =
    peers.find(({ name }) => name === nodeName) ??
    peers.find(({ addresses }) => Object.values(addresses).some((each) => own.includes(each)))
  return (registered?.controlPlane ?? topology === 'SingleReplica') ? 'controlPlane' : 'worker'
}

const takesPart = (role: Role, service: Service): boolean =>
  service === 'api' ? role !== 'worker' : role !== 'bootstrap'

/**
 * Returns a text if too few control plane nodes are known; `undefined` if there are enough. In a cluster of two nodes
 * one node is enough while the bootstrap node is the second.
 */
function tooFew({ cluster: { role, topology, pairs }, peers, mode }: Known): string | undefined {
  const family = pairs[0]?.family
  if (role === 'bootstrap' || mode === 'multicast' || topology === 'SingleReplica' || family === undefined)
    return undefined
  const count = addressesOf(
    peers.filter(({ controlPlane }) => controlPlane),
    family,
  ).length
  if (count >= FEWEST || (count === 1 && isTwoNode(topology))) return undefined
  return `known addresses of control plane nodes: ${count}; unicast needs at least ${FEWEST} (control plane topology ${topology})`
}

const isTwoNode = (topology: Topology): boolean => topology === 'DualReplica' || topology === 'HighlyAvailableArbiter'

function instanceOf(
  known: Known,
  service: Service,
  pair: VipPair,
  vrid: number,
  notes: string[],
): Instance | undefined {
  const { cluster, machine, earlier } = known
  const vip = pair[service]
  if (vip === undefined) return undefined
  const name = `${cluster.name}_${service === 'api' ? 'API' : 'INGRESS'}_${pair.index}`
  const found = placeOf(machine, pair, allVips(cluster.pairs))
  if (typeof found === 'string') notes.push(found)
  // While an address moves from a NIC to a bridge, no interface has the address. The engine follows the address without
  // help of the agent.
  const last = earlier?.instances.find((each) => each.name === name && each.vip === vip)
  const stays = typeof found !== 'string' && staysAt(known, service, last, found.source)
  if (stays)
    notes.push(`${name}: stays at ${last?.source}: the other nodes do not know its new address ${found.source} yet`)
  const place = stays || typeof found === 'string' ? last : { ...found, sourceFile: found.file }
  if (place === undefined) return undefined
  const peers = peersOf(known, service, pair, place.source)
  if (typeof peers === 'string' && peers !== 'multicast') {
    notes.push(`${name}: ${peers}`)
    return undefined
  }
  const isBootstrap = cluster.role === 'bootstrap'
  // OpenShift has a placeholder in the list of the API only. For a single node, OpenShift writes no file.
  const isMissed = cluster.topology === 'SingleReplica' || (isTwoNode(cluster.topology) && service === 'api')
  const needsPlaceholder = isMissed && !isBootstrap && typeof peers !== 'string' && peers.length === 0
  return {
    name,
    service,
    index: pair.index,
    vip,
    prefixLength: hostPrefixLength(pair.family),
    vrid,
    priority: isBootstrap ? BOOTSTRAP_PRIORITY : PRIORITY[service],
    interface: place.interface,
    source: place.source,
    sourceFile: place.sourceFile,
    peers: typeof peers === 'string' ? 'multicast' : peers,
    ...(needsPlaceholder ? { placeholder: NOBODY[pair.family] } : {}),
    password: `${cluster.name}_${service}_vip`,
    tracked: !isBootstrap,
  }
}

/**
 * Tells whether a virtual router keeps its last source address. The machine has a new address that the other nodes do
 * not know yet, and still has the known one. Until the cluster reports the new address, the other nodes reach this node
 * at the old address.
 */
function staysAt(
  { cluster, machine, peers, mode }: Known,
  service: Service,
  last: Instance | undefined,
  found: Address,
): boolean {
  if (last === undefined || mode === 'multicast' || cluster.topology === 'SingleReplica') return false
  const listed = addressesOf(groupOf(peers, service), familyOf(found))
  return !listed.includes(found) && listed.includes(last.source) && hasAddress(machine.node, last.source)
}

/** Returns the peers, `multicast`, or a text with the reason why this node cannot take part. */
function peersOf(
  { cluster, peers, mode }: Known,
  service: Service,
  { family }: VipPair,
  own: Address,
): readonly Address[] | string {
  const group = groupOf(peers, service)
  // In a cluster of one node, the registered address of this node may differ from the present one. If the two addresses
  // differ, the node would be its own peer.
  const isLone = cluster.topology === 'SingleReplica'
  const others = addressesOf(
    group.filter(({ name }) => !isLone || name !== cluster.nodeName),
    family,
  ).filter((each) => each !== own)
  // No other node could receive the advertisements, neither by unicast nor by multicast.
  if (isLone && (service === 'api' || others.length === 0)) return []
  if (mode === 'multicast') return 'multicast'
  const isListed = addressesOf(group, family).includes(own)
  if (isListed || isLone || cluster.role === 'bootstrap') return others
  return `the address ${own} of this node is not an address of any ${service === 'api' ? 'control plane node' : 'node'} in the API (not registered yet?)`
}

const vipsOf = ({ api, ingress }: VipPair): readonly Address[] => [api, ingress].filter((vip) => vip !== undefined)

const placeOf = ({ node, files }: Machine, pair: VipPair, vips: readonly Address[]): Attachment | string =>
  vrrpInterface(node, files, vipsOf(pair), vips)

/**
 * Returns the sync groups. In OpenStack, the port of a node has the VIPs of both families, so both VIPs must move
 * together.
 */
function groupsOf(instances: readonly Instance[], { grouped, pairs }: Cluster): readonly InstanceGroup[] {
  if (!grouped || new Set(pairs.map(({ family }) => family)).size < 2) return []
  return SERVICES.flatMap((service) => {
    const members = instances.filter((each) => each.service === service).map(({ name }) => name)
    return members.length < 2 ? [] : { name: service === 'api' ? 'VG_API' : 'VG_INGRESS', members, service }
  })
}
