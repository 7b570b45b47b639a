/**
 * The configuration for this node's engine in the terms of the cluster. The configuration is complete: no earlier
 * configuration is needed. The configuration is computed in desired-state.ts, and written as text in document.ts and
 * keepalived-text.ts.
 */
import type { Address } from '../../../wire/address.ts'
import type { Service } from './vrid.ts'

/** Role of a node in its cluster. A bootstrap node holds only VIPs of the API, and has no health checks. */
export type Role = 'bootstrap' | 'controlPlane' | 'worker'

/** One virtual router: one VIP of a service (API or ingress). */
export type Instance = {
  /**
   * Name of the virtual router, such as `ostest_API_0`: the same on all nodes, and the same as in keepalived's monitor.
   */
  readonly name: string
  readonly service: Service
  /** Number, from 0, of the pair of VIPs (API and ingress) that this virtual router's VIP belongs to. */
  readonly index: number
  readonly vip: Address
  /** Prefix length of the VIP: 32 or 128. */
  readonly prefixLength: number
  readonly vrid: number
  /** Base priority: 70 on a bootstrap node, otherwise 40 for the API and 20 for ingress. */
  readonly priority: number
  /** Interface of this node that has the address `source` now. */
  readonly interface: string
  /** This node's own address, from which the virtual router sends. */
  readonly source: Address
  /**
   * File that contains `source`; `undefined` if the address was found by the network of the VIP or by the default
   * route.
   */
  readonly sourceFile: string | undefined
  /** Addresses of the other nodes, sorted as text. An empty list means no peers, and never multicast. */
  readonly peers: readonly Address[] | 'multicast'
  /**
   * Address in keepalived's list in the place of a control plane node that is missing (0.0.0.0 or ::, clusters of two
   * nodes). With an empty list, keepalived would use multicast. holdfast never sends to this address.
   */
  readonly placeholder?: Address | undefined
  /** Password of VRRPv2, of which eight octets count. */
  readonly password: string
  /** True if the health checks of the service (API or ingress) change the priority of the virtual router. */
  readonly tracked: boolean
}

/** Virtual routers that move together (OpenStack with two families). */
export type InstanceGroup = { readonly name: string; readonly members: readonly string[]; readonly service: Service }

export type Desired = {
  readonly clusterName: string
  readonly role: Role
  /**
   * Virtual routers of this node: those of the API VIPs, then those of the ingress VIPs, each in the order of the VIP
   * list. Empty: this node holds no VIP at any time.
   */
  readonly instances: readonly Instance[]
  readonly groups: readonly InstanceGroup[]
}
