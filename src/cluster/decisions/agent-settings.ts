/**
 * What an agent is told when it is started: by its command line, whoever's flags those were, and by its environment. A value
 * without a default left open. Refuses to know flags (cli/agent/agent-flags.ts) and what is done by it.
 */
import type { LogFormat } from '../../config/config.ts'
import type { Service } from './engine/vrid.ts'

/** Where what was decided goes. */
export type HandOver =
  /** To holdfast's own engine, whole, by its control socket. */
  | { readonly to: 'engine'; readonly socket: string }
  /** In the place of keepalived's monitor: the file, and a word on keepalived's socket. */
  | { readonly to: 'keepalived'; readonly file: string; readonly socket: string }

export type PrintForm = 'yaml' | 'keepalived' | 'both'

export type AgentSettings = {
  /** Undefined: the token that a pod has. */
  readonly kubeconfig: string | undefined
  readonly handOver: HandOver
  /** keepalived.conf's template, of the cluster; undefined: none is given. */
  readonly template: string | undefined
  /** As they were written, checked: vip-pairs.ts makes pairs of them. */
  readonly vips: Readonly<Record<Service, readonly string[]>>
  readonly apiPort: number
  readonly lbPort: number
  /** Milliseconds. */
  readonly checkInterval: number
  /** How long a change must stay the same before it is handed over; milliseconds. */
  readonly stableFor: number
  readonly clusterConfig: string | undefined
  /** Instead of what cluster-config or kubeconfig say. */
  readonly clusterName: string | undefined
  /** Instead of what the name gives. */
  readonly vrids: Readonly<Partial<Record<Service, number>>>
  readonly platform: string
  readonly controlPlaneTopology: string
  readonly unicast: boolean
  readonly bootstrap: boolean
  readonly podNamespace: string | undefined
  /** This node's name: itself, or the file that has it. Both undefined: the host's name. */
  readonly nodeName: string | undefined
  readonly hostnameFile: string | undefined
  readonly stateDirectory: string
  /** Where its metrics are; undefined: nowhere. */
  readonly listen: { readonly host: string; readonly port: number } | undefined
  /** Every node of the LAN runs holdfast. */
  readonly native: boolean
  /** HostedNetServices: its status is written, its spec followed (not on a bootstrap node). */
  readonly status: boolean
  /** Instead of handing anything over. */
  readonly print: PrintForm | undefined
  /** A NodeList to try it out with, in the place of the API. */
  readonly nodesFile: string | undefined
  /** Of the log; undefined: journald for the systemd journal, otherwise text. */
  readonly logFormat: LogFormat | undefined
}
