/**
 * Decides when a configuration is handed over: after it has stayed the same for some time, earlier if it is urgent, and
 * again to a new engine. A refused configuration is handed over again slowly. An engine that has not answered gets no
 * further configuration. This file knows nothing about which configuration is wanted (desired-state.ts), and since when
 * (debounce.ts).
 */
import { familyOf } from '../../wire/address.ts'
import type { AgentEvent, AgentState, Now, Refused, Step } from './agent-state.ts'
import { applied, type Debounce, dueAt, isSame } from './debounce.ts'
import type { Desired, Instance } from './engine/desired.ts'
import { addressesOf, byText, groupOf } from './engine/peers.ts'
import { hasAddress } from './node-ip/selection.ts'

/**
 * Time in milliseconds before the engine gets an urgent change. An address that moved on this machine does not move
 * back, so the VIP must follow. A new peer receives no advertisements until it is listed, and would become a second
 * holder after an Active_Down_Interval.
 */
export const STABLE_URGENT = 500
/**
 * Time in milliseconds before this node leaves an election because the other nodes cannot reach it: the node has
 * another address, or left the cluster. The node must leave before it has received nothing for an Active_Down_Interval
 * (3.7 s). When a node has left, the other nodes stop sending to this node after 5 s.
 */
export const STABLE_UNREACHED = 2_000
/**
 * Delay in milliseconds before a refused configuration is handed over again: an address that the configuration needs
 * may exist by then.
 */
const AGAIN = 60_000
/** Delay in milliseconds after the engine could not check a configuration, because its worker got no CPU time. */
const FAILED_AGAIN = 2_000
const LONGEST_AGAIN = 600_000

/** Hands a configuration over if one is due and the engine has answered the last one. */
export function handedOver(state: AgentState, event: AgentEvent, now: Now): Step {
  const { engine, debounce } = state
  if (!engine.connected || engine.awaited !== undefined) return { state, orders: [] }
  const waits = waitingFor(state, now)
  const due = waits !== undefined && waits.at <= now.monotonic ? waits.desired : undefined
  const isAgain = event.kind === 'engineConnected' || (againAt(state) ?? Number.POSITIVE_INFINITY) <= now.monotonic
  // A new engine does not have the configuration of an earlier one.
  const desired = due ?? (isAgain ? debounce.inForce : undefined)
  if (desired === undefined) return { state, orders: [] }
  // If only the new peers are handed over, the whole configuration still waits.
  const next = due === undefined ? debounce : { ...applied(desired), candidate: restAfter(debounce, desired) }
  return {
    // A new configuration gets its own attempts: the delay after an earlier refusal does not count.
    state: {
      ...state,
      debounce: next,
      refused: due === undefined ? state.refused : undefined,
      isSwitched: state.isSwitched && due === undefined,
      engine: { ...engine, awaited: desired },
    },
    orders: [{ kind: 'handOver', desired }],
  }
}

/**
 * Returns the engine's last refusal of a configuration, with the time of the next attempt; `undefined` if the engine
 * has not refused the last configuration.
 */
export function refusedAfter({ engine, refused }: AgentState, event: AgentEvent, now: Now): Refused | undefined {
  if (engine.awaited === undefined) return refused
  if (event.kind === 'engineAccepted') return undefined
  if (event.kind !== 'engineRefused') return refused
  const first = event.failed === true ? FAILED_AGAIN : AGAIN
  const wait = refused === undefined ? first : Math.max(first, Math.min(LONGEST_AGAIN, 2 * refused.wait))
  return { at: now.monotonic + wait, wait, problems: event.problems.join('; ') }
}

/**
 * Returns the time at which a refused configuration is handed over again; `undefined` while another configuration
 * waits.
 */
export const againAt = ({ refused, debounce }: AgentState): number | undefined =>
  debounce.candidate === undefined ? refused?.at : undefined

const restAfter = ({ candidate }: Debounce, told: Desired): Debounce['candidate'] =>
  candidate === undefined || isSame(candidate.desired, told) ? undefined : candidate

/**
 * Returns the time at which the waiting configuration is handed to the engine; `undefined` if no configuration waits.
 */
export const handOverAt = (state: AgentState, now: Now): number | undefined => waitingFor(state, now)?.at

/**
 * Returns the waiting configuration and its time. Before a change of mode, new peers wait for that change, so that
 * nodes do not load two configurations in a row. A move on this machine does not wait. If peers are added while others
 * are removed (a node has another address), the added peers are handed over soon. The removed peers stay until the
 * whole configuration is due.
 */
function waitingFor(state: AgentState, now: Now): { readonly at: number; readonly desired: Desired } | undefined {
  const { debounce, schedule, stableFor } = state
  const { inForce, candidate } = debounce
  const stable = patience(state)
  const isNear = schedule.planned !== undefined && now.wall >= schedule.planned.preparedAt
  if (candidate === undefined || (isNear && stable === stableFor)) return undefined
  const grown = stable <= STABLE_URGENT ? undefined : grownBy(inForce, candidate.desired)
  const desired = grown ?? candidate.desired
  const at = dueAt(debounce, grown === undefined ? stable : STABLE_URGENT)
  return at === undefined ? undefined : { at, desired }
}

/** Returns the configuration in force with the new peers added; `undefined` if no peer is new. */
function grownBy(inForce: Desired | undefined, wanted: Desired): Desired | undefined {
  if (inForce === undefined) return undefined
  const instances = inForce.instances.map((one) => {
    const after = wanted.instances.find(({ name }) => name === one.name)
    if (after === undefined || typeof one.peers === 'string' || typeof after.peers === 'string') return one
    // The new list of peers may contain this node's new address; a node is never its own peer.
    const peers = [...new Set([...one.peers, ...after.peers])].filter((each) => each !== one.source).toSorted(byText)
    return { ...one, peers, ...(peers.length === 0 ? {} : { placeholder: undefined }) }
  })
  const grown = { ...inForce, instances }
  return isSame(grown, inForce) ? undefined : grown
}

/** Returns the milliseconds for which the wanted configuration must stay the same before it is handed over. */
function patience(state: AgentState): number {
  const { engine, stableFor, debounce } = state
  const { inForce, candidate } = debounce
  if (inForce === undefined && !engine.configured) return 0
  // A change of the cluster's spec, or an order of the bootstrap guard, is final.
  if (state.isSwitched) return 0
  const hasMoved = candidate?.desired.instances.some((one) => {
    const last = inForce?.instances.find(({ name }) => name === one.name)
    return last !== undefined && (last.interface !== one.interface || last.source !== one.source)
  })
  if (hasMoved === true || hasOnlyGrown(inForce, candidate?.desired)) return Math.min(stableFor, STABLE_URGENT)
  return isUnreached(state) ? Math.min(stableFor, STABLE_UNREACHED) : stableFor
}

/**
 * Tells whether this node leaves an election because it lost its address, or because the API no longer lists that
 * address.
 */
function isUnreached({ machine, peers, debounce: { inForce, candidate } }: AgentState): boolean {
  const left = inForce?.instances.filter(({ name }) => !candidate?.desired.instances.some((one) => one.name === name))
  if (machine === undefined || left === undefined) return false
  const isListed = ({ service, source }: Instance) =>
    addressesOf(groupOf(peers, service), familyOf(source)).includes(source)
  return left.some((one) => !hasAddress(machine.node, one.source) || !isListed(one))
}

/**
 * Tells whether the only change of the configuration is more peers. Sending advertisements to more nodes does no harm.
 */
function hasOnlyGrown(inForce: Desired | undefined, wanted: Desired | undefined): boolean {
  if (inForce === undefined || wanted === undefined) return false
  const bare = (desired: Desired) => ({
    ...desired,
    instances: desired.instances.map((one) => ({ ...one, peers: [], placeholder: undefined })),
  })
  return (
    isSame(bare(inForce), bare(wanted)) &&
    inForce.instances.every(({ peers }, i) => {
      const after = wanted.instances[i]?.peers
      return typeof peers === 'string' || typeof after === 'string'
        ? peers === after
        : peers.every((each) => after?.includes(each))
    })
  )
}
