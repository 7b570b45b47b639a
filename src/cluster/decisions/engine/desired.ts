/**
 * What the engine of this node is to do, as the cluster has it: complete, so that nothing of an earlier one has to be known.
 * A value; who decides it is desired-state.ts, how it is written down document.ts and keepalived-text.ts.
 */
import type { Address } from '../../../wire/address.ts'
import type { Service } from './vrid.ts'

/** What a node is in its cluster. A bootstrap node has the API's addresses alone and checks nothing. */
export type Role = 'bootstrap' | 'controlPlane' | 'worker'

/** One virtual router: a service's address of one family. */
export type Instance = {
  /** `ostest_API_0`: the same on all nodes, and what keepalived's monitor calls it. */
  readonly name: string
  readonly service: Service
  /** Which pair of VIPs, from 0. */
  readonly index: number
  readonly vip: Address
  /** 32 or 128. */
  readonly prefixLength: number
  readonly vrid: number
  /** Base: 70 on a bootstrap node, else 40 for the API and 20 for ingress. */
  readonly priority: number
  /** The one that holds `source` now. */
  readonly interface: string
  /** This node's own address on it. */
  readonly source: Address
  /** The file that names `source`; undefined: it was found by the network of the VIP or the default route. */
  readonly sourceFile: string | undefined
  /** Without ourselves, sorted as text. None: alone on the LAN, which is never the same as multicast. */
  readonly peers: readonly Address[] | 'multicast'
  /**
   * What stands in keepalived's list for a control plane node that is still missing (0.0.0.0 or ::, clusters of two nodes):
   * an empty list would be multicast there. Ours never sends to it.
   */
  readonly placeholder?: Address | undefined
  /** PASS of VRRPv2, of which eight bytes count. */
  readonly password: string
  /** By the checks of its service. */
  readonly tracked: boolean
}

/** Instances that move together (OpenStack with two families). */
export type InstanceGroup = { readonly name: string; readonly members: readonly string[]; readonly service: Service }

export type Desired = {
  readonly clusterName: string
  readonly role: Role
  /** API before ingress, by index. Empty: this node has no part in any election. */
  readonly instances: readonly Instance[]
  readonly groups: readonly InstanceGroup[]
}
