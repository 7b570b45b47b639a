/**
 * The core of the agent. The core converts events of the cluster, of this machine and of the engine into
 * configurations, stored peers and log messages, and decides when to run again. A failed lookup changes nothing:
 * without the API, the peers stay; without the engine, the last configuration waits. A refusal is logged once. A
 * refused configuration is tried again slowly, a new configuration immediately. This file knows nothing about sockets,
 * files and clocks; `now` is an argument.
 */
import { AGENT_LOG } from '../../log/agent-events.ts'
import { knownAfter } from './agent-knowledge.ts'
import {
  type AgentEvent,
  type AgentOrder,
  type AgentState,
  logOrder,
  type Now,
  type Start,
  type Step,
} from './agent-state.ts'
import { IDLE, isSame, lookupFailed, offered, overdue } from './debounce.ts'
import { type Decision, desiredState, type Mode } from './engine/desired-state.ts'
import { startSchedule, ticked } from './engine/mode.ts'
import { againAt, handedOver, handOverAt, refusedAfter } from './handing-over.ts'

/**
 * Default of `stableFor`, in milliseconds. Peers often change several at a time, because nodes are added and removed in
 * groups.
 */
export const STABLE = 5_000
const INGRESS_WAITS =
  'ingress waits until the API has answered about HostedNetServices, because ingressHa may be Disabled'
/** Longest sleep in milliseconds. The wall clock may be set in the meantime. */
const LONGEST_SLEEP = 30_000

/** Returns the state of an agent at its start. */
export const startAgent = ({ cluster, intent, mode, remembered, stableFor = STABLE }: Start, now: Now): AgentState => ({
  cluster,
  intent,
  isSwitched: false,
  machine: undefined,
  nodes: undefined,
  peers: remembered ?? [],
  stableFor,
  source: remembered === undefined ? 'nothing' : 'remembered',
  blind: { api: false, machine: false },
  defaultMode: mode,
  mode: undefined,
  wantedMode: undefined,
  schedule: startSchedule(now.wall),
  debounce: IDLE,
  engine: {
    connected: false,
    configured: false,
    mode: undefined,
    ingress: false,
    awaited: undefined,
    accepted: undefined,
  },
  refused: undefined,
  persisted: remembered,
  told: [],
  wakeAt: undefined,
})

/** Returns the agent's state after an event, and the orders that follow. */
export function stepAgent(before: AgentState, event: AgentEvent, now: Now): Step {
  const { state: known, orders: said } = knownAfter(before, event)
  const heard = { ...known, refused: refusedAfter(before, event, now) }
  const isBlind = heard.blind.machine || (heard.blind.api && heard.source === 'api')
  const decision = decide(heard, modeOf(heard))
  const wasBlind = before.blind.machine || (before.blind.api && before.source === 'api')
  const seen = isBlind && !wasBlind ? lookupFailed(heard.debounce, now.monotonic) : heard.debounce
  const debounce = decision === undefined ? seen : offered(seen, decision.desired, now.monotonic, isBlind)
  const isSwitched = heard.isSwitched && debounce.candidate !== undefined
  const scheduled = changedMode({ ...heard, debounce, isSwitched }, now)
  const handed = handedOver(scheduled.state, event, now)
  const kept = written(handed.state)
  const told = news(before.told, [...(decision?.notes ?? []), ...heard.odd])
  const { odd: _odd, ...state } = { ...heard, ...kept.state }
  return {
    state: { ...state, told: told.current, wakeAt: wakeAt(state, now) },
    orders: [...said, ...told.orders, ...waiting(before, heard), ...scheduled.orders, ...handed.orders, ...kept.orders],
  }
}

/** Returns unicast or multicast: the mode of the engine, which stays (M8), otherwise the default mode. */
const modeOf = ({ mode, defaultMode }: AgentState): Mode => mode ?? defaultMode

/**
 * Returns the configuration to hand over, or `undefined` if too little is known. A bootstrap node starts before there
 * are nodes.
 */
function decide(state: AgentState, mode: Mode): Decision | undefined {
  const { cluster, machine, peers, intent, source, engine } = state
  if (machine === undefined || (source === 'nothing' && cluster.role !== 'bootstrap')) return undefined
  const ingress = intent.ingress === 'unknown' ? engine.ingress : intent.ingress
  return desiredState({ cluster, machine, peers, intent: { ...intent, ingress }, mode, earlier: engine.accepted })
}

/**
 * Logs once that ingress waits: an engine without ingress routers gets no ingress routers before the API has answered.
 */
function waiting(before: AgentState, state: AgentState): AgentOrder[] {
  const waits = ({ engine, intent }: AgentState) => engine.connected && !engine.ingress && intent.ingress === 'unknown'
  return waits(state) && !waits(before) ? [logOrder(AGENT_LOG.ingressWaits, INGRESS_WAITS, {})] : []
}

function changedMode(state: AgentState, now: Now): Step {
  const { blind, nodes, schedule } = state
  const facts = { current: state.mode, wanted: state.wantedMode, nodes: blind.api ? undefined : nodes }
  const next = ticked(schedule, facts, now.wall)
  const { planned } = next
  const orders: AgentOrder[] = []
  if (planned !== undefined && planned !== schedule.planned)
    orders.push(logOrder(AGENT_LOG.modePlanned, 'planned a change of mode', { mode: planned.mode, at: planned.at }))
  if (planned === undefined || now.wall < planned.at) return { state: { ...state, schedule: next }, orders }
  const over = { ...state, schedule: { ...next, planned: undefined } }
  const desired = decide(state, planned.mode)?.desired
  if (desired === undefined) {
    orders.push(
      logOrder(
        AGENT_LOG.modeNotChanged,
        'the change between multicast and unicast is skipped: the nodes, or their interfaces, are unknown',
        {
          mode: planned.mode,
        },
      ),
    )
    return { state: over, orders }
  }
  orders.push(logOrder(AGENT_LOG.modeChanged, 'changing the mode', { mode: planned.mode }))
  // The configuration is handed over after the engine has answered the last hand-over.
  const debounce = overdue(state.debounce, desired, state.stableFor, now.monotonic)
  return { state: { ...over, mode: planned.mode, debounce }, orders }
}

/**
 * Stores the peers when they are in force. Peers that are still changing, or that the engine refused, are not stored.
 */
function written(state: AgentState): Step {
  const { source, peers, persisted, debounce, engine } = state
  const isSettled =
    debounce.candidate === undefined && engine.accepted !== undefined && isSame(engine.accepted, debounce.inForce)
  if (source !== 'api' || !isSettled || JSON.stringify(peers) === JSON.stringify(persisted))
    return { state, orders: [] }
  return { state: { ...state, persisted: peers }, orders: [{ kind: 'persist', peers }] }
}

/** Returns the warnings that have not been logged yet. */
function news(before: readonly string[], current: readonly string[]): { current: string[]; orders: AgentOrder[] } {
  const all = [...new Set(current)]
  return {
    current: all,
    orders: all.filter((what) => !before.includes(what)).map((what) => logOrder(AGENT_LOG.desiredStateNote, what, {})),
  }
}

/** Returns the time at which the core must run again, by the monotonic clock; `undefined` if nothing is due. */
function wakeAt(state: AgentState, now: Now): number | undefined {
  const { engine, schedule, wantedMode, mode } = state
  const isFree = engine.connected && engine.awaited === undefined
  const due = isFree ? handOverAt(state, now) : undefined
  const again = isFree ? againAt(state) : undefined
  const change =
    schedule.planned?.[now.wall < schedule.planned.preparedAt ? 'preparedAt' : 'at'] ??
    (wantedMode !== undefined && wantedMode !== mode ? schedule.tickAt : undefined)
  const times = [
    ...(due === undefined ? [] : [Math.max(due, now.monotonic)]),
    ...(again === undefined ? [] : [Math.max(again, now.monotonic)]),
    ...(change === undefined ? [] : [now.monotonic + Math.min(LONGEST_SLEEP, Math.max(0, change - now.wall))]),
  ]
  return times.length === 0 ? undefined : Math.min(...times)
}
