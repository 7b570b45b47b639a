/**
 * A node of the cluster, of all that the API says of one: as much as peers and a change of mode are decided by. A value;
 * what of a Node object is malformed is told by whoever reads it (node-object.ts).
 */

export type NodeAddress = {
  /** `InternalIP`, `ExternalIP`, `Hostname`, …: the API's own words. */
  readonly type: string
  /** As it is written there: not always an address. */
  readonly address: string
}

export type ClusterNode = {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  readonly addresses: readonly NodeAddress[]
  /** Empty where the node does not say. */
  readonly kubeletVersion: string
}
