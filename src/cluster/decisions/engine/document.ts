/**
 * Writes the configuration as a complete document of holdfast: a plain value and its YAML. While nodes of the LAN may
 * run keepalived, the packets are those of keepalived: version 2 with a password for IPv4, version 3 for IPv6, and an
 * interval of one second. A node without peers is alone and never uses multicast. This file knows nothing about how the
 * document is handed over.
 */
import { stringify } from 'yaml'
import type { PresetName } from '../../../config/schema/preset.ts'
import { familyOf } from '../../../wire/address.ts'
import type { Desired, Instance, InstanceGroup } from './desired.ts'
import { VIP_LABEL } from './upstream-names.ts'
import type { Service } from './vrid.ts'

export type DocumentOptions = {
  /**
   * True if every node of the LAN runs holdfast. On such a LAN the document uses version 3 without a password, and
   * features that keepalived does not have.
   */
  readonly native?: boolean
}
/**
 * A configuration as in a YAML file (config/config.ts). Keys are in the order of the schema; undefined keys are left
 * out.
 */
export type DocumentValue = { readonly [key: string]: unknown }

const PRESET: Readonly<Record<Service, PresetName>> = { api: 'openshift-api', ingress: 'openshift-ingress' }
const BASE_PRIORITY: Readonly<Record<Service, number>> = { api: 40, ingress: 20 }
const HEAD = (
  clusterName: string,
): string => `# Written by holdfast agent for the cluster ${clusterName}. The agent replaces the file when the cluster
# changes, so edits are lost.
`

/** Returns holdfast's configuration as a value. */
export function documentOf(desired: Desired, { native = false }: DocumentOptions = {}): DocumentValue {
  const groups = desired.groups.flatMap((group) => groupOf(group, desired))
  const grouped = new Set(groups.flatMap(({ members }) => members))
  const virtualRouters = desired.instances.map((instance) =>
    present(
      routerOf(instance, { native, grouped: grouped.has(instance.name), bootstrap: desired.role === 'bootstrap' }),
    ),
  )
  return { version: 1, virtualRouters, ...(groups.length === 0 ? {} : { syncGroups: groups }) }
}

/** Returns holdfast's configuration as YAML. */
export function documentText(desired: Desired, options: DocumentOptions = {}): string {
  const written = stringify(documentOf(desired, options), { lineWidth: 0, aliasDuplicateObjects: false })
  return `${HEAD(desired.clusterName)}\n${written}`
}

type Place = { readonly native: boolean; readonly grouped: boolean; readonly bootstrap: boolean }

function routerOf(instance: Instance, { native, grouped, bootstrap }: Place): DocumentValue {
  const { name, vrid, vip, prefixLength, priority, password, peers } = instance
  const ipv4 = familyOf(vip) === 'ipv4'
  const old = !native && ipv4
  const address = `${vip}/${prefixLength}`
  const multicast = peers === 'multicast'
  // Under keepalived's profile, an empty list means multicast. A node without peers uses holdfast's profile; the only
  // difference on the LAN is the message to a successor.
  const like = !native && (multicast || peers.length > 0)
  return {
    name,
    vrid,
    // With `holding`, the engine itself follows the address, or the file with the address, even while the agent is
    // stopped. If the agent wrote the name of the interface, each move of the address would restart the election.
    interface: { holding: instance.sourceFile ?? instance.source },
    addresses: [ipv4 ? { address, label: VIP_LABEL } : address],
    version: old ? 2 : 3,
    priority,
    advertisementInterval: '1s',
    authentication: old ? { type: 'simple', password: countedOf(password) } : undefined,
    transport: multicast
      ? { multicast: { source: sourceIn(instance) } }
      : { unicast: { ...sourceBeside(instance), peers: peersOf(instance) } },
    preset: instance.tracked && !grouped ? PRESET[instance.service] : undefined,
    announce: native || bootstrap ? undefined : { refresh: '60s' },
    profile: like ? 'keepalived' : 'holdfast',
    remindSuccessor: native || like ? undefined : true,
    // In multicast, the number of other routers is unknown.
    stagger: multicast ? false : undefined,
    // keepalived sends IPv6 advertisements with hop limit 64.
    ttlCheck: multicast ? undefined : native,
    firstAddressLinkLocal: ipv4 ? undefined : false,
  }
}

/**
 * Returns the source address for multicast. IPv6 uses the link-local address, which only the engine knows (RFC 9568
 * §5.1.2.1).
 */
const sourceIn = ({ source, sourceFile, vip }: Instance) =>
  familyOf(vip) === 'ipv4' && sourceFile === undefined ? source : 'auto'

/** Returns the source address for unicast. If a file decides, the address in that file is the source. */
const sourceBeside = ({ source, sourceFile }: Instance) => (sourceFile === undefined ? { source } : {})

/**
 * Returns the peers with their priority. All nodes of a service have the same base priority, so the stagger is exact. A
 * bootstrap node has a higher base priority and is in no peer list.
 */
const peersOf = ({ peers, service }: Instance) =>
  peers === 'multicast' ? [] : peers.map((address) => ({ address, priority: BASE_PRIORITY[service] }))

type GroupValue = { readonly name: string; readonly members: readonly string[]; readonly preset: PresetName }

/** Returns the sync group with the members that this node has. A group without members would be refused. */
function groupOf({ name, members, service }: InstanceGroup, { instances }: Desired): readonly GroupValue[] {
  const here = members.filter((member) => instances.some((instance) => instance.name === member))
  return here.length === 0 ? [] : [{ name, members: here, preset: PRESET[service] }]
}

/** Returns the part of the password that is sent in the packet. */
const countedOf = (password: string) => (/^[ -~]*$/.test(password) ? password.slice(0, 8) : password)

const present = (value: DocumentValue): DocumentValue =>
  Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined))
