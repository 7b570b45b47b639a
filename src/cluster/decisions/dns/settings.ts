/** Settings of `holdfast corednsmonitor`. Flags are read in cli/dns/monitor-flags.ts. */
import type { LogFormat } from '../../../config/config.ts'
import type { Service } from '../engine/vrid.ts'
import type { CloudBalancers } from './cloud-balancers.ts'

export type DnsSettings = {
  /** Path of the kubeconfig. */
  readonly kubeconfig: string
  readonly template: string
  /** Path of the Corefile that is written. */
  readonly corefile: string
  readonly vips: Readonly<Record<Service, readonly string[]>>
  readonly apiPort: number
  /** Milliseconds between two checks of the Corefile, besides the checks after each change. */
  readonly checkInterval: number
  readonly clusterConfig: string | undefined
  readonly platform: string
  /** Load balancers of a cloud, in the place of VIPs; empty on a platform with VIPs. */
  readonly cloud: readonly CloudBalancers[]
  readonly resolvConf: string
  /** Port of CoreDNS' plugin `health`. */
  readonly healthPort: number
  /** File of hosts for dnsmasq; `undefined`: dnsmasq does not run on this node. */
  readonly dnsmasqHosts: string | undefined
  /** File for the report to the agent of this node; `undefined`: no report. */
  readonly report: string | undefined
  /** State folder of the agent of this node, whose nodes are used; `undefined`: the monitor watches the nodes itself. */
  readonly nodesFrom: string | undefined
  /** True if the Corefile is written once, without the names of the nodes. */
  readonly once: boolean
  readonly hostnameFile: string | undefined
  readonly listen: { readonly host: string; readonly port: number } | undefined
  readonly logFormat: LogFormat | undefined
}
