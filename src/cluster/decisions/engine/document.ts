/**
 * What the engine is to do as a complete configuration of ours: a plain value and its YAML. Decided here: while nodes of the
 * LAN may run keepalived, everything that goes over the wire is as keepalived has it (version 2 with PASS for IPv4, version 3
 * for IPv6, one second), and a node without peers is alone, never on multicast. Refuses to know how it is handed over.
 */
import { stringify } from 'yaml'
import type { PresetName } from '../../../config/schema/preset.ts'
import { familyOf } from '../../../wire/address.ts'
import type { Desired, Instance, InstanceGroup } from './desired.ts'
import { VIP_LABEL } from './upstream-words.ts'
import type { Service } from './vrid.ts'

export type DocumentOptions = {
  /** Every node of the LAN runs holdfast: version 3 without a password, and all that keepalived would not understand. */
  readonly native?: boolean
}
/** As a file may have it (config/config.ts); keys in the order of the schema, undefined ones left out. */
export type DocumentValue = { readonly [key: string]: unknown }

const PRESET: Readonly<Record<Service, PresetName>> = { api: 'openshift-api', ingress: 'openshift-ingress' }
const BASE_PRIORITY: Readonly<Record<Service, number>> = { api: 40, ingress: 20 }
const HEAD = (
  clusterName: string,
): string => `# Written by holdfast agent for the cluster ${clusterName}, and replaced as a whole when the cluster
# changes: what is edited here is lost.
`

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
  // Under keepalived's profile an empty list means multicast. Alone there is nobody who could tell one profile from the other
  // but by what is said to a successor.
  const like = !native && (multicast || peers.length > 0)
  return {
    name,
    vrid,
    // Our address, or the file that names it, is followed by the engine itself, at once and also while we are not there. By the
    // interface's name it would begin anew where the address goes.
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
    // Whoever speaks to a group cannot know how many others there are.
    stagger: multicast ? false : undefined,
    // keepalived sends IPv6 with a hop limit of 64.
    ttlCheck: multicast ? undefined : native,
    firstAddressLinkLocal: ipv4 ? undefined : false,
  }
}

/** RFC 9568 §5.1.2.1: to the group of IPv6 from the link-local address, which the engine knows and we do not. */
const sourceIn = ({ source, sourceFile, vip }: Instance) =>
  familyOf(vip) === 'ipv4' && sourceFile === undefined ? source : 'auto'

/** Where the file decides, the address that it says is the source. */
const sourceBeside = ({ source, sourceFile }: Instance) => (sourceFile === undefined ? { source } : {})

/** All nodes of a service have the same base: the stagger is exact by it. A bootstrap node, above them, is in no list. */
const peersOf = ({ peers, service }: Instance) =>
  peers === 'multicast' ? [] : peers.map((address) => ({ address, priority: BASE_PRIORITY[service] }))

type GroupValue = { readonly name: string; readonly members: readonly string[]; readonly preset: PresetName }

/** One without members would be refused; which are left is the cluster's business of this moment. */
function groupOf({ name, members, service }: InstanceGroup, { instances }: Desired): readonly GroupValue[] {
  const here = members.filter((member) => instances.some((instance) => instance.name === member))
  return here.length === 0 ? [] : [{ name, members: here, preset: PRESET[service] }]
}

/** As much as goes over the wire. */
const countedOf = (password: string) => (/^[ -~]*$/.test(password) ? password.slice(0, 8) : password)

const present = (value: DocumentValue): DocumentValue =>
  Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined))
