/**
 * Decides the Corefile of CoreDNS on this node: the cluster's template with the nodes, the upstream DNS servers and the
 * administrator's wishes. If anything that the file needs is unknown or wrong, the file in force stays. Pure.
 */
import { messageOf } from '../../../base/message-of.ts'
import { render } from '../../../template/render.ts'
import type { Structure } from '../../../template/value.ts'
import { type Address, familyOf } from '../../../wire/address.ts'
import type { VipPair } from '../engine/vip-pairs.ts'
import type { StoredNode } from '../stored-nodes.ts'
import { type CloudBalancers, cloudFields } from './cloud-balancers.ts'
import { corefileProblems } from './corefile-check.ts'
import { type DnsWishes, withWishes } from './corefile-wishes.ts'
import { clusterDomain } from './dns-name.ts'
import { type NodeRecord, nodeRecords } from './node-records.ts'
import { upstreamsIn } from './upstreams.ts'

export type DnsCluster = {
  readonly name: string
  readonly domain: string
  readonly pairs: readonly VipPair[]
  readonly platform: string
  /** Load balancers of a cloud, in the place of VIPs. */
  readonly cloud?: readonly CloudBalancers[]
}

export type CorefileSources = {
  readonly cluster: DnsCluster
  readonly template: string
  /** Text of NetworkManager's resolv.conf; `undefined` if it cannot be read. */
  readonly resolvConf: string | undefined
  /** Address of this node in the LAN of the VIPs; `undefined` if this node has none. */
  readonly self: Address | undefined
  /** All addresses of this node, to which no query is forwarded. */
  readonly own: readonly Address[]
  readonly shortHostname: string
  /** Nodes of the cluster; `undefined` until the API has listed them. */
  readonly nodes: readonly StoredNode[] | undefined
  /** The administrator's wishes; `undefined` until the API has answered about them. */
  readonly wishes: DnsWishes | undefined
}

export type CorefileDecision = {
  /** Text of the Corefile, or the reason why the Corefile in force stays. */
  readonly file: { readonly text: string } | { readonly kept: string }
  /** True if the reason is only that the API has not answered yet. */
  readonly isWaiting: boolean
  readonly notes: readonly string[]
  readonly upstreams: readonly string[]
  readonly records: readonly NodeRecord[]
}

/** Decides the Corefile. `mayLackNodes`: render without the names of the nodes, before the API of the cluster exists. */
export function decideCorefile(sources: CorefileSources, { mayLackNodes = false } = {}): CorefileDecision {
  const { servers, notes: odd } = upstreamsIn(sources.resolvConf ?? '', [...sources.own])
  const { records, notes } = nodeRecords(sources.nodes ?? [])
  const rest = { notes: [...odd, ...notes], upstreams: servers, records }
  const kept = (reason: string, isWaiting = false): CorefileDecision => ({ ...rest, file: { kept: reason }, isWaiting })
  if (sources.resolvConf === undefined) return kept('the resolv.conf of NetworkManager cannot be read')
  if (servers.length === 0) return kept('no DNS server outside of this node is known, to which CoreDNS could forward')
  if (!mayLackNodes) {
    if (sources.nodes === undefined) return kept('the nodes of the cluster are not known yet', true)
    if (records.length === 0) return kept('no node of the cluster has a name and an address')
    if (sources.wishes === undefined) return kept('the wishes in HostedNetServices are not known yet', true)
  }
  const rendered = rendition(sources, servers, records)
  if ('problem' in rendered) return kept(rendered.problem)
  const problems = corefileProblems(rendered.text)
  return problems.length === 0
    ? { ...rest, file: rendered, isWaiting: false }
    : kept(`CoreDNS would refuse the Corefile: ${problems.join('; ')}`)
}

function rendition(
  sources: CorefileSources,
  upstreams: readonly string[],
  records: readonly NodeRecord[],
): { readonly text: string } | { readonly problem: string } {
  const { cluster, template, wishes } = sources
  const shown = wishes?.nodes === false ? [] : records
  try {
    const plain = render(template, corefileData(sources, upstreams, shown))
    const text = wishes === undefined ? plain : withWishes(plain, wishes, clusterDomain(cluster))
    return typeof text === 'string' ? { text } : text
  } catch (error) {
    return { problem: `the template cannot be executed: ${messageOf(error)}` }
  }
}

type NodeParts = Pick<CorefileSources, 'cluster' | 'self' | 'shortHostname'>

/**
 * Returns the data of the template, with the field names of runtimecfg. The list `Configs` has the data of each pair of
 * VIPs; the fields beside it are those of the first pair.
 */
export function corefileData(
  parts: NodeParts,
  upstreams: readonly string[],
  records: readonly NodeRecord[],
): Structure {
  const { cloud = [], pairs } = parts.cluster
  const data = (pair: VipPair | undefined, balancers?: CloudBalancers) =>
    pairData(parts, { pair, balancers }, upstreams, records)
  if (cloud.length > 0) {
    const configs = cloud.map((balancers) => data(undefined, balancers))
    return { ...configs[0], Configs: configs }
  }
  const [first, ...others] = pairs
  return { ...data(first), Configs: [data(first), ...others.map((pair) => data(pair))] }
}

function pairData(
  { cluster, self, shortHostname }: NodeParts,
  { pair, balancers }: { readonly pair: VipPair | undefined; readonly balancers: CloudBalancers | undefined },
  upstreams: readonly string[],
  records: readonly NodeRecord[],
): Structure {
  const { api, ingress } = pair ?? {}
  return {
    Cluster: {
      Name: cluster.name,
      Domain: cluster.domain,
      APIVIP: api ?? '',
      IngressVIP: ingress ?? '',
      APIVIPRecordType: recordType(api),
      APIVIPEmptyType: emptyType(api),
      IngressVIPRecordType: recordType(ingress),
      IngressVIPEmptyType: emptyType(ingress),
      ...cloudFields(balancers),
      VIPNetmask: balancers !== undefined ? 0 : api === undefined || familyOf(api) === 'ipv6' ? 128 : 32,
      NodeAddresses: records,
      PlatformType: cluster.platform,
    },
    NonVirtualIP: balancers === undefined ? (self ?? '') : '',
    ShortHostname: shortHostname,
    DNSUpstreams: upstreams,
  }
}

const isIpv6 = (vip: Address | undefined): boolean => vip !== undefined && familyOf(vip) === 'ipv6'
const recordType = (vip: Address | undefined): string => (isIpv6(vip) ? 'AAAA' : 'A')
const emptyType = (vip: Address | undefined): string => (isIpv6(vip) ? 'A' : 'AAAA')
