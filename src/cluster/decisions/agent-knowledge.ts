/**
 * Updates the agent's knowledge after an event, and decides which log messages follow immediately. Which events about
 * nodes are ignored is decided in known-nodes.ts, the consequences in agreement.ts.
 */
import { AGENT_LOG } from '../../log/agent-events.ts'
import { type AgentEvent, type AgentOrder, type AgentState, type Intent, logOrder } from './agent-state.ts'
import type { Desired } from './engine/desired.ts'
import { type Mode, peerWishes } from './engine/desired-state.ts'
import { peerNodes } from './engine/peers.ts'
import { type NodeEvent, nodesAfter } from './known-nodes.ts'

/** The agent's state with the current warnings about nodes (`odd`), and the orders that an event causes. */
export type Knowledge = {
  readonly state: AgentState & { readonly odd: readonly string[] }
  readonly orders: readonly AgentOrder[]
}

type Heard = { readonly state: AgentState; readonly orders: readonly AgentOrder[] }

/** Returns what the agent knows after an event. */
export function knownAfter(before: AgentState, event: AgentEvent): Knowledge {
  const { state, orders } = heard(before, event)
  const { nodes, machine, cluster } = state
  if (nodes === undefined || machine === undefined) return { state: { ...state, odd: [] }, orders }
  const found = peerNodes(nodes, peerWishes({ cluster, machine }), state.peers)
  const odd = found.odd.map(({ node, what }) => `node ${node}: ${what}`)
  return { state: { ...state, peers: found.peers, source: 'api', odd }, orders }
}

function heard(state: AgentState, event: AgentEvent): Heard {
  switch (event.kind) {
    case 'nodesListed':
    case 'nodeChanged':
    case 'nodeGone':
      return named(state, event)
    case 'listFailed':
      return blinded(state, 'api', `cannot read the nodes of the cluster: ${event.reason}`)
    case 'watchResumed':
      return quiet(sees(state, 'api'))
    case 'machineChanged':
      return quiet({ ...sees(state, 'machine'), machine: event.machine })
    case 'lookupFailed':
      return blinded(state, 'machine', `cannot read the interfaces or files of this machine: ${event.reason}`)
    case 'intentChanged':
      return quiet(switched(state, event.intent))
    case 'modeWanted':
      return quiet({ ...state, wantedMode: event.mode })
    default:
      return quiet(state, ofEngine(state, event))
  }
}

function switched(state: AgentState, intent: Intent): AgentState {
  const isSame = intent.api === state.intent.api && intent.ingress === state.intent.ingress
  return { ...state, intent, isSwitched: state.isSwitched || !isSame }
}

const quiet = (state: AgentState, change: Partial<Heard> = {}): Heard => ({ state, orders: [], ...change })

type EngineEvent = Extract<
  AgentEvent,
  { kind: 'engineConnected' | 'engineLost' | 'engineAccepted' | 'engineRefused' | 'tick' }
>

function ofEngine(state: AgentState, event: EngineEvent): Partial<Heard> {
  const { engine } = state
  switch (event.kind) {
    case 'engineConnected': {
      const { configured, mode } = event
      // The configuration that this agent handed over counts more than the report of an engine that has just started.
      const ingress = engine.ingress || event.ingress === true
      const next = { ...engine, connected: true, configured, mode, ingress, awaited: undefined }
      return { state: { ...state, engine: next, mode: state.mode ?? mode } }
    }
    case 'engineLost':
      return {
        state: { ...state, engine: { ...engine, connected: false, awaited: undefined } },
        orders: engine.connected
          ? [logOrder(AGENT_LOG.engineLost, 'connection to the engine lost', { reason: event.reason })]
          : [],
      }
    case 'engineAccepted': {
      const { awaited } = engine
      if (awaited === undefined) return {}
      const ingress = engine.ingress || awaited.instances.some(({ service }) => service === 'ingress')
      const next = { ...engine, configured: true, ingress, awaited: undefined, accepted: awaited }
      return { state: { ...state, engine: next, mode: state.mode ?? modeOf(awaited) } }
    }
    case 'engineRefused': {
      const { awaited, accepted } = engine
      if (awaited === undefined) return {}
      const problems = event.problems.join('; ')
      const isNews = problems !== state.refused?.problems
      const orders = isNews ? [logOrder(AGENT_LOG.refusalChanged, REFUSAL, { problems })] : []
      // If the engine refused a change between unicast and multicast, the earlier mode stays in force.
      const mode = modeOf(awaited) === state.mode ? ((accepted && modeOf(accepted)) ?? engine.mode) : state.mode
      return { state: { ...state, engine: { ...engine, awaited: undefined }, mode }, orders }
    }
    case 'tick':
      return {}
  }
}

function modeOf({ instances }: Desired): Mode | undefined {
  const [first] = instances
  return first === undefined ? undefined : first.peers === 'multicast' ? 'multicast' : 'unicast'
}

function named(state: AgentState, event: NodeEvent): Heard {
  const { nodes, malformed, refused, isCurrent } = nodesAfter(state.nodes, event, state.cluster.role === 'bootstrap')
  if (refused !== undefined) return blinded(state, 'api', `cannot read the nodes of the cluster: ${refused}`)
  return { state: isCurrent ? { ...sees(state, 'api'), nodes } : state, orders: malformed.map(complaint) }
}

const REFUSAL = 'the engine refused the configuration; the previous configuration stays in force'

type Source = keyof AgentState['blind']

const sees = (state: AgentState, source: Source): AgentState => ({
  ...state,
  blind: { ...state.blind, [source]: false },
})

/** Logs when a source becomes unreadable, but not at each further attempt to read it. */
const blinded = (state: AgentState, source: Source, message: string): Heard => ({
  state: { ...state, blind: { ...state.blind, [source]: true } },
  orders: state.blind[source] ? [] : [logOrder(AGENT_LOG.machineNotRead, message, {})],
})

const complaint = ({ node, field, found }: { node: string; field: string; found: string }): AgentOrder =>
  logOrder(AGENT_LOG.nodeMalformed, `Node object ${node}: field ${field} is malformed`, { node, field, found })
