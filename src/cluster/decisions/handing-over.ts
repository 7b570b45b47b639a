/**
 * When a configuration is handed over: what is wanted when it has been so for long enough, which what is urgent is sooner; the
 * same again to a new engine, and slowly to one that refused it. Never to an engine that still has to answer. Refuses to know
 * what is wanted (desired-state.ts) and from when it has been so (debounce.ts).
 */
import { familyOf } from '../../wire/address.ts'
import type { AgentEvent, AgentState, Now, Refused, Step } from './agent-state.ts'
import { applied, type Debounce, dueAt, isSame } from './debounce.ts'
import type { Desired, Instance } from './engine/desired.ts'
import { addressesOf, byText, groupOf } from './engine/peers.ts'
import { hasAddress } from './node-ip/selection.ts'

/**
 * An address that has moved on this machine has moved for good, and the VIP should follow. And a peer more: it hears nobody until it is
 * listed, and would be a second owner after an Active_Down_Interval.
 */
export const STABLE_URGENT = 500
/**
 * Nobody reaches this node any more, or will in a moment: it has another address, or has left the cluster. It has to leave its
 * elections before it hears nobody for an Active_Down_Interval (3.7 s), so well before the others stop telling it (5 s).
 */
export const STABLE_UNREACHED = 2_000
/** What was refused, as it is: the address that it needs may have come. */
const AGAIN = 60_000
/** What the engine could not judge: its worker was given up, on a machine that gave it no time. */
const FAILED_AGAIN = 2_000
const LONGEST_AGAIN = 600_000

export function handedOver(state: AgentState, event: AgentEvent, now: Now): Step {
  const { engine, debounce } = state
  if (!engine.connected || engine.awaited !== undefined) return { state, orders: [] }
  const waits = waitingFor(state, now)
  const due = waits !== undefined && waits.at <= now.monotonic ? waits.desired : undefined
  const isAgain = event.kind === 'engineConnected' || (againAt(state) ?? Number.POSITIVE_INFINITY) <= now.monotonic
  // A new engine knows nothing of what an earlier one was told.
  const desired = due ?? (isAgain ? debounce.inForce : undefined)
  if (desired === undefined) return { state, orders: [] }
  // Where only what came is told, the whole waits on.
  const next = due === undefined ? debounce : { ...applied(desired), candidate: restAfter(debounce, desired) }
  return {
    // Another is another attempt.
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

export function refusedAfter({ engine, refused }: AgentState, event: AgentEvent, now: Now): Refused | undefined {
  if (engine.awaited === undefined) return refused
  if (event.kind === 'engineAccepted') return undefined
  if (event.kind !== 'engineRefused') return refused
  const first = event.failed === true ? FAILED_AGAIN : AGAIN
  const wait = refused === undefined ? first : Math.max(first, Math.min(LONGEST_AGAIN, 2 * refused.wait))
  return { at: now.monotonic + wait, wait, problems: event.problems.join('; ') }
}

/** When what was refused is handed over as it is, unless something else is on its way. */
export const againAt = ({ refused, debounce }: AgentState): number | undefined =>
  debounce.candidate === undefined ? refused?.at : undefined

const restAfter = ({ candidate }: Debounce, told: Desired): Debounce['candidate'] =>
  candidate === undefined || isSame(candidate.desired, told) ? undefined : candidate

export const handOverAt = (state: AgentState, now: Now): number | undefined => waitingFor(state, now)?.at

/**
 * Before a change of mode peers wait for it, so that nodes do not read two configurations in a row; what moved here does not.
 * Peers that come while others go (a node has another address) are told at once, and those that go stay until the whole is due.
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

/** As in force, with the peers that are new. Undefined: there are none. */
function grownBy(inForce: Desired | undefined, wanted: Desired): Desired | undefined {
  if (inForce === undefined) return undefined
  const instances = inForce.instances.map((one) => {
    const after = wanted.instances.find(({ name }) => name === one.name)
    if (after === undefined || typeof one.peers === 'string' || typeof after.peers === 'string') return one
    // By its new address we would be our own peer.
    const peers = [...new Set([...one.peers, ...after.peers])].filter((each) => each !== one.source).toSorted(byText)
    return { ...one, peers, ...(peers.length === 0 ? {} : { placeholder: undefined }) }
  })
  const grown = { ...inForce, instances }
  return isSame(grown, inForce) ? undefined : grown
}

/** ms that what is wanted has to stay the same. */
function patience(state: AgentState): number {
  const { engine, stableFor, debounce } = state
  const { inForce, candidate } = debounce
  if (inForce === undefined && !engine.configured) return 0
  // The spec, or the guard of a bootstrap node after enough looks: nothing churns here.
  if (state.isSwitched) return 0
  const hasMoved = candidate?.desired.instances.some((one) => {
    const last = inForce?.instances.find(({ name }) => name === one.name)
    return last !== undefined && (last.interface !== one.interface || last.source !== one.source)
  })
  if (hasMoved === true || hasOnlyGrown(inForce, candidate?.desired)) return Math.min(stableFor, STABLE_URGENT)
  return isUnreached(state) ? Math.min(stableFor, STABLE_UNREACHED) : stableFor
}

/** It is to leave an election, because it has lost the address by which it was in it, or the others are to forget that one. */
function isUnreached({ machine, peers, debounce: { inForce, candidate } }: AgentState): boolean {
  const left = inForce?.instances.filter(({ name }) => !candidate?.desired.instances.some((one) => one.name === name))
  if (machine === undefined || left === undefined) return false
  const isListed = ({ service, source }: Instance) =>
    addressesOf(groupOf(peers, service), familyOf(source)).includes(source)
  return left.some((one) => !hasAddress(machine.node, one.source) || !isListed(one))
}

/** The same, with more peers: to tell more nodes who is Active does no harm, whoever they are. */
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
