/** Types of the agent's core (agreement.ts): its events, its orders, and its state. Plain values only. */
import type { AgentField, AgentFields, AgentLogEvent } from '../../log/agent-events.ts'
import type { ClusterNode } from './cluster-node.ts'
import type { Debounce } from './debounce.ts'
import type { Desired } from './engine/desired.ts'
import type { Cluster, Machine, Mode } from './engine/desired-state.ts'
import type { Schedule } from './engine/mode.ts'
import type { PeerNode } from './engine/peers.ts'
import type { NodeEvent } from './known-nodes.ts'

/**
 * Time in milliseconds, of both clocks at one moment. The monotonic clock measures durations; the wall clock gives the
 * time at which all nodes act together.
 */
export type Now = { readonly monotonic: number; readonly wall: number }

/**
 * The services for which the cluster wants holdfast to hold an address. `unknown`: the API has not answered about
 * ingress yet, so the engine keeps the ingress routers that it has.
 */
export type Intent = { readonly api: boolean; readonly ingress: boolean | 'unknown' }

/** Events for the agent. */
export type AgentEvent =
  | NodeEvent
  /** The list of nodes failed, or a watch ended and could not be resumed. */
  | { readonly kind: 'listFailed'; readonly reason: string }
  /** The watch of the nodes was resumed where it had ended, so the nodes are known again. */
  | { readonly kind: 'watchResumed' }
  | { readonly kind: 'machineChanged'; readonly machine: Machine }
  /** Interfaces, routes or files of this machine could not be read. */
  | { readonly kind: 'lookupFailed'; readonly reason: string }
  | { readonly kind: 'intentChanged'; readonly intent: Intent }
  /** Mode (unicast or multicast) that the cluster wants; `undefined` if it wants none. */
  | { readonly kind: 'modeWanted'; readonly mode: Mode | undefined }
  /**
   * `configured`: the engine has virtual routers. `mode`: unicast or multicast. `ingress`: at least one of the virtual
   * routers belongs to ingress.
   */
  | {
      readonly kind: 'engineConnected'
      readonly configured: boolean
      readonly mode: Mode | undefined
      readonly ingress?: boolean
    }
  | { readonly kind: 'engineLost'; readonly reason: string }
  | { readonly kind: 'engineAccepted' }
  /** `failed`: the engine could not finish reading the configuration, so it may accept the same configuration later. */
  | { readonly kind: 'engineRefused'; readonly problems: readonly string[]; readonly failed?: boolean }
  | { readonly kind: 'tick' }

type OrderFields = Readonly<Partial<Record<AgentField, string | number>>>

/** Returns the order to log an event. */
export const logOrder = <E extends AgentLogEvent, const Given extends OrderFields>(
  event: E,
  message: string,
  fields: AgentFields<E, Given>,
): AgentOrder => ({ kind: 'log', event, message, fields })

export type AgentOrder =
  /**
   * Hand this configuration to the engine. The answer is the event `engineAccepted`, `engineRefused` or `engineLost`;
   * no second configuration is handed over before the answer.
   */
  | { readonly kind: 'handOver'; readonly desired: Desired }
  | { readonly kind: 'persist'; readonly peers: readonly PeerNode[] }
  | {
      readonly kind: 'log'
      readonly event: AgentLogEvent
      readonly message: string
      readonly fields: OrderFields
    }

export type Start = {
  readonly cluster: Cluster
  readonly intent: Intent
  /** Mode (unicast or multicast) for an engine that has no configuration yet. */
  readonly mode: Mode
  /** Peers that an earlier run of the agent stored in a file; `undefined` if that run stored none. */
  readonly remembered: readonly PeerNode[] | undefined
  /**
   * Time in milliseconds for which a changed configuration must stay the same before the agent hands it to the engine.
   */
  readonly stableFor?: number
}

/**
 * About the last configuration that the engine refused: time of the next attempt by the monotonic clock, and the delay
 * before that attempt in milliseconds.
 */
export type Refused = { readonly at: number; readonly wait: number; readonly problems: string }

export type AgentState = {
  readonly cluster: Cluster
  readonly intent: Intent
  /** True if the wanted services have changed and the engine does not have the new configuration yet. */
  readonly isSwitched: boolean
  /** Interfaces and addresses of this machine; `undefined` before the first reading. */
  readonly machine: Machine | undefined
  /** Nodes of the cluster: the last list of the API with all later changes; `undefined` before the first list. */
  readonly nodes: readonly ClusterNode[] | undefined
  readonly peers: readonly PeerNode[]
  readonly stableFor: number
  readonly source: 'nothing' | 'remembered' | 'api'
  readonly blind: { readonly api: boolean; readonly machine: boolean }
  readonly defaultMode: Mode
  /** Mode (unicast or multicast) of the configuration in force; `undefined` while no configuration is in force. */
  readonly mode: Mode | undefined
  readonly wantedMode: Mode | undefined
  readonly schedule: Schedule
  readonly debounce: Debounce
  readonly engine: {
    readonly connected: boolean
    readonly configured: boolean
    /** Mode (unicast or multicast) that the engine reported; `undefined` if it reported none. */
    readonly mode: Mode | undefined
    /** True if the engine has, or had, a virtual router of ingress. */
    readonly ingress: boolean
    readonly awaited: Desired | undefined
    readonly accepted: Desired | undefined
  }
  /** Last refusal of a configuration by the engine. The reason may be on this machine, and may disappear. */
  readonly refused: Refused | undefined
  readonly persisted: readonly PeerNode[] | undefined
  /** Warnings of the agent that still apply and have been logged. */
  readonly told: readonly string[]
  /** Time at which the agent's core runs again, by the monotonic clock; `undefined` if nothing is due. */
  readonly wakeAt: number | undefined
}

export type Step = { readonly state: AgentState; readonly orders: readonly AgentOrder[] }
