/**
 * A node of the cluster, reduced to the fields that decide about peers and a change of mode. `node-object.ts` reads it
 * and reports malformed fields.
 */

export type NodeAddress = {
  /** Type of an address as in the API: `InternalIP`, `ExternalIP`, `Hostname` and others. */
  readonly type: string
  /** Text of an address as in the API, which is not always an IP address. */
  readonly address: string
}

export type ClusterNode = {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  readonly addresses: readonly NodeAddress[]
  /** Version of the node's kubelet; empty if the node does not report the version. */
  readonly kubeletVersion: string
}
