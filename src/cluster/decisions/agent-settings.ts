/**
 * Settings of an agent: those of its command line, in either set of flags, and of its environment. Only values without
 * a default may be `undefined`. Flags are read in cli/agent/agent-flags.ts.
 */
import type { LogFormat } from '../../config/config.ts'
import type { Service } from './engine/vrid.ts'

/** Receiver of the agent's configurations. */
export type HandOver =
  /** Hand configurations to holdfast's own engine, over the engine's control socket. */
  | { readonly to: 'engine'; readonly socket: string }
  /**
   * Hand configurations to keepalived as its monitor does: write keepalived.conf, then send a line to keepalived's
   * socket.
   */
  | { readonly to: 'keepalived'; readonly file: string; readonly socket: string }

export type PrintForm = 'yaml' | 'keepalived' | 'both'

export type AgentSettings = {
  /** Path of the kubeconfig; `undefined`: the token of the pod is used. */
  readonly kubeconfig: string | undefined
  readonly handOver: HandOver
  /** Path of the cluster's template of keepalived.conf; `undefined` if the command line names no template. */
  readonly template: string | undefined
  /** VIPs of each service, in the order of the command line. `vip-pairs.ts` makes pairs of them. */
  readonly vips: Readonly<Record<Service, readonly string[]>>
  readonly apiPort: number
  readonly lbPort: number
  /** Time in milliseconds between two readings of this machine's interfaces and addresses. */
  readonly checkInterval: number
  /**
   * Time in milliseconds for which a changed configuration must stay the same before the agent hands it to the engine.
   */
  readonly stableFor: number
  readonly clusterConfig: string | undefined
  /**
   * Cluster name from the command line, in place of the name in cluster-config or kubeconfig; `undefined` if not given.
   */
  readonly clusterName: string | undefined
  /** VRIDs from the command line, in place of those computed from the cluster's name. */
  readonly vrids: Readonly<Partial<Record<Service, number>>>
  readonly platform: string
  readonly controlPlaneTopology: string
  readonly unicast: boolean
  readonly bootstrap: boolean
  readonly podNamespace: string | undefined
  /** Name of this node, or the file that contains the name. If both are undefined, the host name is used. */
  readonly nodeName: string | undefined
  readonly hostnameFile: string | undefined
  readonly stateDirectory: string
  /** Address and port of the agent's metrics; `undefined`: the agent opens no port. */
  readonly listen: { readonly host: string; readonly port: number } | undefined
  /** True if every node of the cluster's LAN runs holdfast, not keepalived. */
  readonly native: boolean
  /**
   * True if the agent writes the status of HostedNetServices and follows its spec. Always `false` on a bootstrap node.
   */
  readonly status: boolean
  /** File in which `holdfast corednsmonitor` of this node reports; `undefined`: that process does not run here. */
  readonly dnsReport: string | undefined
  /** Form in which the configuration is printed; `undefined`: the configuration is handed over to the engine. */
  readonly print: PrintForm | undefined
  /** Path of a file with a NodeList that replaces the API, for tests; `undefined`: the API is asked. */
  readonly nodesFile: string | undefined
  /** Format of the log; `undefined`: `journald` for the systemd journal, otherwise `text`. */
  readonly logFormat: LogFormat | undefined
}
