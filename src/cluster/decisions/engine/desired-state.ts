/**
 * What this node's engine is to do, from what is known of the cluster and of the machine. Decided here: which virtual routers
 * it takes part in, with whom, and when too little is known to say (a reason, and the earlier answer stands). Refuses to know
 * when an answer is handed over (debounce.ts) and how peers became known (peers.ts).
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

/** How many nodes may have the API's address: the Infrastructure resource's own words. */
export type Topology = 'HighlyAvailable' | 'HighlyAvailableArbiter' | 'DualReplica' | 'SingleReplica'

/** What does not change while an agent runs. */
export type Cluster = {
  readonly name: string
  /** Instead of those of the name. */
  readonly vrids: Vrids | undefined
  /** Undefined: as its Node object is labelled. */
  readonly role: Role | undefined
  /** This node's, as the API calls it; empty: nobody knows. */
  readonly nodeName: string
  readonly pairs: readonly VipPair[]
  readonly topology: Topology
  /** The VIPs of both families of a service move together. */
  readonly grouped: boolean
}

/** This machine, now. */
export type Machine = {
  readonly node: NodeView
  readonly files: AddressFiles
  /** Its LAN is not that of the VIPs (node-ip/files.ts). */
  readonly remoteWorker: boolean
}

export type Known = {
  readonly cluster: Cluster
  readonly machine: Machine
  readonly peers: readonly PeerNode[]
  /** The services that holdfast is to keep an address for. */
  readonly intent: Readonly<Record<Service, boolean>>
  readonly mode: Mode
  /** What was decided last: where a pair has no place on the machine now, it had one then. */
  readonly earlier: Desired | undefined
}

/** `desired` undefined: too little is known; `notes` say why, and what is odd. */
export type Decision = { readonly desired: Desired | undefined; readonly notes: readonly string[] }

const PRIORITY: Readonly<Record<Service, number>> = { api: 40, ingress: 20 }
/** More than any node that is not the bootstrap node ever gets from its checks. */
const BOOTSTRAP_PRIORITY = 70
/** A control plane node beside which no other is known does not begin: the others might not know it either. */
const FEWEST = 2

/** An empty list of keepalived's would be multicast. */
const NOBODY: Readonly<Record<Family, Address>> = { ipv4: address('0.0.0.0'), ipv6: address('::') }

const SERVICES: readonly Service[] = ['api', 'ingress']

export function desiredState(known: Known): Decision {
  const { cluster, machine } = known
  const role = roleOf(known)
  const vrids = cluster.vrids ?? vridsOf(cluster.name)
  if (vrids === undefined) return { desired: undefined, notes: ['The name of the cluster is empty'] }
  const of = (instances: readonly Instance[]): Desired => ({
    clusterName: cluster.name,
    role,
    instances,
    groups: groupsOf(instances, cluster),
  })
  if (machine.remoteWorker) return { desired: of([]), notes: ['A remote worker: its LAN is not that of the VIPs'] }
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

/** How peers are looked for on this machine: once for each family of the VIPs. */
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

/** By its name, else by its address; a node that is not registered is no control plane node yet. */
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

/** Undefined: enough. One is enough where there is only one, or where the bootstrap node is the second for a while. */
function tooFew({ cluster: { role, topology, pairs }, peers, mode }: Known): string | undefined {
  const family = pairs[0]?.family
  if (role === 'bootstrap' || mode === 'multicast' || topology === 'SingleReplica' || family === undefined)
    return undefined
  const count = addressesOf(
    peers.filter(({ controlPlane }) => controlPlane),
    family,
  ).length
  if (count >= FEWEST || (count === 1 && isTwoNode(topology))) return undefined
  return `${count} of at least ${FEWEST} control plane nodes have an address (topology ${topology})`
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
  // An address on its way from a NIC to a bridge is nowhere for a moment; the engine follows it by itself.
  const last = earlier?.instances.find((each) => each.name === name && each.vip === vip)
  const stays = typeof found !== 'string' && staysAt(known, service, last, found.source)
  if (stays) notes.push(`${name}: stays at ${last?.source}: nobody knows this node by ${found.source} yet`)
  const place = stays || typeof found === 'string' ? last : { ...found, sourceFile: found.file }
  if (place === undefined) return undefined
  const peers = peersOf(known, service, pair, place.source)
  if (typeof peers === 'string' && peers !== 'multicast') {
    notes.push(`${name}: ${peers}`)
    return undefined
  }
  const isBootstrap = cluster.role === 'bootstrap'
  // Upstream has one in the API's list alone; of a single node it has no file at all.
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
 * Another address has turned up here, by which nobody knows this node yet, and the one by which all know it is still here: it is
 * reached there, so that is where it takes part until the cluster has heard of the other one.
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

/** Another string than 'multicast' says why this node has no part. */
function peersOf(
  { cluster, peers, mode }: Known,
  service: Service,
  { family }: VipPair,
  own: Address,
): readonly Address[] | string {
  const group = groupOf(peers, service)
  // A single node knows itself when its address is another than the one that it was registered with.
  const isLone = cluster.topology === 'SingleReplica'
  const others = addressesOf(
    group.filter(({ name }) => !isLone || name !== cluster.nodeName),
    family,
  ).filter((each) => each !== own)
  // Nobody could hear it, whatever the mode; a single node is never in multicast.
  if (isLone && (service === 'api' || others.length === 0)) return []
  if (mode === 'multicast') return 'multicast'
  const isListed = addressesOf(group, family).includes(own)
  if (isListed || isLone || cluster.role === 'bootstrap') return others
  return `this node's address ${own} is not among those of the ${service === 'api' ? 'control plane' : 'cluster'} (not registered yet?)`
}

const vipsOf = ({ api, ingress }: VipPair): readonly Address[] => [api, ingress].filter((vip) => vip !== undefined)

const placeOf = ({ node, files }: Machine, pair: VipPair, vips: readonly Address[]): Attachment | string =>
  vrrpInterface(node, files, vipsOf(pair), vips)

/** Ports of OpenStack have the VIPs of both families on one node. */
function groupsOf(instances: readonly Instance[], { grouped, pairs }: Cluster): readonly InstanceGroup[] {
  if (!grouped || new Set(pairs.map(({ family }) => family)).size < 2) return []
  return SERVICES.flatMap((service) => {
    const members = instances.filter((each) => each.service === service).map(({ name }) => name)
    return members.length < 2 ? [] : { name: service === 'api' ? 'VG_API' : 'VG_INGRESS', members, service }
  })
}
