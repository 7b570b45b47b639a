/**
 * When a configuration is handed over: what is wanted when it has been so for long enough, which what is urgent is sooner; the
 * same again to a new engine, and slowly to one that refused it. Never to an engine that still has to answer. Refuses to know
 * what is wanted (desired-state.ts) and from when it has been so (debounce.ts).
 */
import type { AgentEvent, AgentState, Now, Refused, Step } from './agent-state.ts'
import { applied, dueAt, isSame } from './debounce.ts'
import type { Desired } from './desired.ts'

/**
 * An address that has moved on this machine has moved for good, and the VIP should follow. And a peer more: it hears nobody until it is
 * listed, and would be a second owner after an Active_Down_Interval.
 */
export const STABLE_URGENT = 500
/** What was refused, as it is: the address that it needs may have come. */
const AGAIN = 60_000
const LONGEST_AGAIN = 600_000

export function handedOver(state: AgentState, event: AgentEvent, now: Now): Step {
  const { engine, debounce } = state
  if (!engine.connected || engine.awaited !== undefined) return { state, orders: [] }
  const at = handOverAt(state, now)
  const due = at !== undefined && at <= now.monotonic ? debounce.candidate?.desired : undefined
  const isAgain = event.kind === 'engineConnected' || (againAt(state) ?? Number.POSITIVE_INFINITY) <= now.monotonic
  // A new engine knows nothing of what an earlier one was told.
  const desired = due ?? (isAgain ? debounce.inForce : undefined)
  if (desired === undefined) return { state, orders: [] }
  const next = due === undefined ? debounce : applied(desired)
  return {
    // Another is another attempt.
    state: {
      ...state,
      debounce: next,
      refused: due === undefined ? state.refused : undefined,
      engine: { ...engine, awaited: desired },
    },
    orders: [{ kind: 'handOver', desired }],
  }
}

export function refusedAfter({ engine, refused }: AgentState, event: AgentEvent, now: Now): Refused | undefined {
  if (engine.awaited === undefined) return refused
  if (event.kind === 'engineAccepted') return undefined
  if (event.kind !== 'engineRefused') return refused
  const wait = refused === undefined ? AGAIN : Math.min(LONGEST_AGAIN, 2 * refused.wait)
  return { at: now.monotonic + wait, wait, problems: event.problems.join('; ') }
}

/** When what was refused is handed over as it is, unless something else is on its way. */
export const againAt = ({ refused, debounce }: AgentState): number | undefined =>
  debounce.candidate === undefined ? refused?.at : undefined

/** Before a change of mode peers wait for it, so that nodes do not read two configurations in a row; what moved here does not. */
export function handOverAt(state: AgentState, now: Now): number | undefined {
  const { debounce, schedule } = state
  const stable = patience(state)
  const isNear = schedule.planned !== undefined && now.wall >= schedule.planned.preparedAt
  return isNear && stable === state.stableFor ? undefined : dueAt(debounce, stable)
}

/** ms that what is wanted has to stay the same. */
function patience({ cluster, engine, stableFor, debounce: { inForce, candidate } }: AgentState): number {
  if (inForce === undefined && !engine.configured) return 0
  // Given up, or taken back, after enough looks of its guard (bootstrap-guard.ts): nobody churns here.
  if (cluster.role === 'bootstrap' && hasPart(inForce) !== hasPart(candidate?.desired)) return 0
  const hasMoved = candidate?.desired.instances.some((one) => {
    const last = inForce?.instances.find(({ name }) => name === one.name)
    return last !== undefined && (last.interface !== one.interface || last.source !== one.source)
  })
  return hasMoved === true || hasOnlyGrown(inForce, candidate?.desired) ? Math.min(stableFor, STABLE_URGENT) : stableFor
}

const hasPart = (desired: Desired | undefined): boolean => desired !== undefined && desired.instances.length > 0

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
