/** Counts actions and observations of an agent, for `/metrics`. */
import { type AgentSamples, agentMetricsText } from './account-metrics.ts'
import { FAILURE_KINDS, type FailureKind } from './api/api-failure.ts'
import type { WatchPhase } from './api/object-watch.ts'

const PHASES: readonly WatchPhase[] = ['listing', 'watching', 'waiting']
const RESULTS = ['accepted', 'refused', 'lost'] as const
export type HandOverResult = (typeof RESULTS)[number]

/** Counters about HostedNetServices. */
export type StatusAccount = {
  readonly writes: Readonly<Record<string, number>>
  readonly specsRefused: number
  readonly events: { readonly told: number; readonly dropped: number; readonly waiting: number }
}

export class Account {
  phase: WatchPhase = 'listing'
  nodes = 0
  isConnected = false
  /**
   * Time in milliseconds (wall clock) at which the API last gave a list of nodes; `undefined` before the first list.
   */
  lastListAt: number | undefined
  readonly failures = new Map<FailureKind, number>()
  readonly statusFailures = new Map<FailureKind, number>()
  readonly handOvers = new Map<HandOverResult, number>()
  malformed = 0
  /** Returns the counters about HostedNetServices; `undefined` if the agent writes no status. */
  status: (() => StatusAccount) | undefined
  #refused = false

  failed(kind: FailureKind): void {
    this.failures.set(kind, (this.failures.get(kind) ?? 0) + 1)
  }

  statusFailed(kind: FailureKind): void {
    this.statusFailures.set(kind, (this.statusFailures.get(kind) ?? 0) + 1)
  }

  handed(result: HandOverResult): void {
    this.handOvers.set(result, (this.handOvers.get(result) ?? 0) + 1)
    // A lost hand-over does not tell whether the configuration was accepted.
    if (result !== 'lost') this.#refused = result === 'refused'
  }

  text(now: number): string {
    const status = this.status?.()
    const none: Readonly<Record<string, number>> = {}
    const samples: AgentSamples = {
      holdfast_agent_watch_state: Object.fromEntries(PHASES.map((state) => [state, Number(state === this.phase)])),
      holdfast_agent_api_failures_total: countsOf(FAILURE_KINDS, this.failures),
      holdfast_agent_nodes: { '': this.nodes },
      holdfast_agent_last_list_age_seconds:
        this.lastListAt === undefined ? none : { '': (now - this.lastListAt) / 1_000 },
      holdfast_agent_malformed_fields_total: { '': this.malformed },
      holdfast_agent_hand_overs_total: countsOf(RESULTS, this.handOvers),
      holdfast_agent_engine_connected: { '': Number(this.isConnected) },
      holdfast_agent_engine_refuses: { '': Number(this.#refused) },
      holdfast_agent_status_writes_total: status?.writes ?? none,
      holdfast_agent_status_watch_failures_total:
        status === undefined ? none : countsOf(FAILURE_KINDS, this.statusFailures),
      holdfast_agent_specs_refused_total: status === undefined ? none : { '': status.specsRefused },
      holdfast_agent_events_total:
        status === undefined ? none : { told: status.events.told, dropped: status.events.dropped },
      holdfast_agent_events_waiting: status === undefined ? none : { '': status.events.waiting },
    }
    return agentMetricsText(samples)
  }
}

const countsOf = <Key extends string>(keys: readonly Key[], counts: ReadonlyMap<Key, number>): Record<string, number> =>
  Object.fromEntries(keys.map((key) => [key, counts.get(key) ?? 0]))
