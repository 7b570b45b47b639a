/**
 * The data that OpenShift's templates are executed with: the same fields as runtimecfg gives them. This file decides
 * the names and forms of the fields, and that a value that is not known is empty. This file does not find the values.
 */
import type { Structure, TemplateValue } from '../../template/value.ts'
import { type Address, familyOf } from '../../wire/address.ts'
import { type CloudBalancers, cloudFields } from './dns/cloud-balancers.ts'
import type { Vrids } from './engine/vrid.ts'

/** A control plane node to which the API's load balancer sends. */
export type Backend = { readonly host: string; readonly address: string }

/** Facts about one pair of VIPs on this node. */
export type PairFacts = {
  readonly api: Address | undefined
  readonly ingress: Address | undefined
  /** This node's own address; empty if the node takes no part for this pair. */
  readonly own: string
  readonly interface: string
  /** Control plane nodes, sorted by address. */
  readonly backends: readonly Backend[]
  /** Addresses of all nodes that may hold the ingress VIP, sorted. */
  readonly ingressPeers: readonly string[]
  /** Load balancers of a cloud, in the place of VIPs. */
  readonly cloud?: CloudBalancers
}

export type TemplateFacts = {
  readonly clusterName: string
  readonly domain: string
  readonly vrids: Vrids
  readonly platform: string
  readonly topology: string
  /** Number of control plane nodes in the install-config; 0 if not known. */
  readonly controlPlaneNodes: number
  /** Name of this node up to its first dot. */
  readonly hostname: string
  readonly unicast: boolean
  readonly upstreams: readonly string[]
  readonly ports: { readonly api: number; readonly balancer: number; readonly statistics: number }
  readonly pairs: readonly PairFacts[]
}

/** Returns the data of a template: the fields of the first pair of VIPs, and all pairs as `Configs`. */
export function templateData(facts: TemplateFacts): Structure {
  const configs = facts.pairs.map((pair) => pairData(facts, pair))
  const empty: PairFacts = {
    api: undefined,
    ingress: undefined,
    own: '',
    interface: '',
    backends: [],
    ingressPeers: [],
  }
  return { ...(configs[0] ?? pairData(facts, empty)), Configs: configs }
}

function pairData(facts: TemplateFacts, pair: PairFacts): Structure {
  const { clusterName, vrids, ports } = facts
  return {
    Cluster: {
      Name: clusterName,
      Domain: facts.domain,
      APIVIP: pair.api ?? '',
      APIVirtualRouterID: vrids.api,
      ...recordTypes('APIVIP', pair.api),
      IngressVIP: pair.ingress ?? '',
      IngressVirtualRouterID: vrids.ingress,
      ...recordTypes('IngressVIP', pair.ingress),
      // runtimecfg takes the family of the API's VIP for both. Without this VIP it takes IPv6.
      VIPNetmask: pair.cloud !== undefined ? 0 : pair.api !== undefined && familyOf(pair.api) === 'ipv4' ? 32 : 128,
      MasterAmount: facts.controlPlaneNodes,
      NodeAddresses: [],
      ...cloudFields(pair.cloud),
      PlatformType: facts.platform,
      ControlPlaneTopology: facts.topology,
    },
    LBConfig: {
      ApiPort: ports.api,
      LbPort: ports.balancer,
      StatPort: ports.statistics,
      Backends: pair.backends.map(({ host, address }) => ({ Host: host, Address: address, Port: ports.api })),
      FrontendAddr: '',
    },
    NonVirtualIP: pair.own,
    ShortHostname: facts.hostname,
    VRRPInterface: pair.interface,
    DNSUpstreams: facts.upstreams,
    IngressConfig: { Peers: pair.ingressPeers },
    EnableUnicast: facts.unicast,
  }
}

/** Returns the DNS type of a VIP's record, and the type for which the answer is empty. */
function recordTypes(name: string, vip: Address | undefined): Record<string, TemplateValue> {
  const isIpv6 = vip !== undefined && familyOf(vip) === 'ipv6'
  return { [`${name}RecordType`]: isIpv6 ? 'AAAA' : 'A', [`${name}EmptyType`]: isIpv6 ? 'A' : 'AAAA' }
}
