/** The words of the agent's core (agreement.ts): what it hears, what it orders, and what it keeps in between. Values alone. */
import type { ClusterNode } from './cluster-node.ts'
import type { Debounce } from './debounce.ts'
import type { Desired } from './engine/desired.ts'
import type { Cluster, Machine, Mode } from './engine/desired-state.ts'
import type { Schedule } from './engine/mode.ts'
import type { PeerNode } from './engine/peers.ts'

/** ms. Both at one moment: how long things last is told by the one, when all nodes do something by the other. */
export type Now = { readonly monotonic: number; readonly wall: number }

/**
 * Which services the cluster wants holdfast to keep an address for. `unknown`: the API was never heard about it, so ingress
 * stays as the engine has it.
 */
export type Intent = { readonly api: boolean; readonly ingress: boolean | 'unknown' }

/** Nodes as JSON gave them. */
export type AgentEvent =
  | { readonly kind: 'nodesListed'; readonly nodes: readonly unknown[] }
  | { readonly kind: 'nodeChanged'; readonly node: unknown }
  | { readonly kind: 'nodeGone'; readonly node: unknown }
  /** No list, or a watch that ended and could not be resumed. */
  | { readonly kind: 'listFailed'; readonly reason: string }
  /** A watch was resumed where it had ended: what is known of the nodes is true again. */
  | { readonly kind: 'watchResumed' }
  | { readonly kind: 'machineChanged'; readonly machine: Machine }
  /** Links, routes or files of this machine could not be read. */
  | { readonly kind: 'lookupFailed'; readonly reason: string }
  | { readonly kind: 'intentChanged'; readonly intent: Intent }
  /** Undefined: nobody wants another one. */
  | { readonly kind: 'modeWanted'; readonly mode: Mode | undefined }
  /** `configured`: it has virtual routers already; `mode`: theirs; `ingress`: one of them is of ingress. */
  | {
      readonly kind: 'engineConnected'
      readonly configured: boolean
      readonly mode: Mode | undefined
      readonly ingress?: boolean
    }
  | { readonly kind: 'engineLost'; readonly reason: string }
  | { readonly kind: 'engineAccepted' }
  /** `failed`: it could not even read it to the end, and would perhaps take it now. */
  | { readonly kind: 'engineRefused'; readonly problems: readonly string[]; readonly failed?: boolean }
  | { readonly kind: 'tick' }

export type AgentOrder =
  /** Answered by `engineAccepted`, `engineRefused` or `engineLost`; there is never a second one before. */
  | { readonly kind: 'handOver'; readonly desired: Desired }
  | { readonly kind: 'persist'; readonly peers: readonly PeerNode[] }
  | {
      readonly kind: 'tell'
      readonly level: 'info' | 'warn'
      readonly words: string
      readonly fields: Readonly<Record<string, string | number>>
    }

export type Start = {
  readonly cluster: Cluster
  readonly intent: Intent
  /** Where no engine has one already. */
  readonly mode: Mode
  /** Undefined: nothing was ever written down. */
  readonly remembered: readonly PeerNode[] | undefined
  /** ms that a change must stay the same before it is handed over. */
  readonly stableFor?: number
}

/** When the same is handed over again, by the monotonic clock, and how long was waited for that. */
export type Refused = { readonly at: number; readonly wait: number; readonly problems: string }

export type AgentState = {
  readonly cluster: Cluster
  readonly intent: Intent
  /** The intent has changed, and the engine has not been told yet. */
  readonly isSwitched: boolean
  /** Undefined: nobody has looked yet. */
  readonly machine: Machine | undefined
  /** By the last list and all since; undefined: there was none. */
  readonly nodes: readonly ClusterNode[] | undefined
  readonly peers: readonly PeerNode[]
  readonly stableFor: number
  readonly source: 'nothing' | 'remembered' | 'api'
  readonly blind: { readonly api: boolean; readonly machine: boolean }
  readonly defaultMode: Mode
  /** Undefined: nothing is in force. */
  readonly mode: Mode | undefined
  readonly wantedMode: Mode | undefined
  readonly schedule: Schedule
  readonly debounce: Debounce
  readonly engine: {
    readonly connected: boolean
    readonly configured: boolean
    /** What it said of itself. */
    readonly mode: Mode | undefined
    /** It had a virtual router of ingress, now or before. */
    readonly ingress: boolean
    readonly awaited: Desired | undefined
    readonly accepted: Desired | undefined
  }
  /** What the engine refused last: a refusal may come from the machine, which changes. */
  readonly refused: Refused | undefined
  readonly persisted: readonly PeerNode[] | undefined
  /** What is odd now. */
  readonly told: readonly string[]
  /** Of the monotonic clock; undefined: nothing happens by itself. */
  readonly wakeAt: number | undefined
}

export type Step = { readonly state: AgentState; readonly orders: readonly AgentOrder[] }
