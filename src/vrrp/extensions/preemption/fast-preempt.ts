/**
 * fastPreempt: if the Active that we follow lowers its own priority below ours, waiting a whole Active_Down_Interval
 * protects nothing. The extension fastPreempt acts only on such a demotion, never on a single lower advertisement. By
 * this rule a competing Active whose packets travel in one direction only cannot start repeated takeovers. minHold
 * keeps an unstable health check from moving the addresses again and again. If our higher priority depends on health
 * checks, those checks have to confirm it first (docs/adr/0025). When all nodes lose the same backend, the first node
 * to notice the loss is no worse than the others. Options: `fastPreempt`, `minHold`, `assured`.
 */
import { type Millis, millis, plus } from '../../../wire/units.ts'
import type { Effect } from '../../effect.ts'
import type { Event } from '../../event.ts'
import type { Step } from '../../fsm.ts'
import { isOwner, outranks, type Parameters } from '../../parameters.ts'
import type { Backup } from '../../state.ts'
import { activeDownInterval } from '../../timers.ts'
import { becomeActive } from '../enter.ts'
import type { Extension } from '../extension.ts'
import { activeDownDelay, releasedDelay } from '../stagger.ts'

type Received = Extract<Event, { kind: 'advertisementReceived' }>

export const fastPreempt: Extension = {
  name: 'fast-preempt',
  isOn: ({ assured, extensions, priority }) =>
    extensions.fastPreempt === true || (assured !== undefined && assured < priority),
  isPending: { Backup: ({ regularDownAt }) => regularDownAt !== undefined },
  wraps: {
    Backup: {
      advertisementReceived: (inner, state, event, parameters, now) => {
        const stepped = inner(state, event, parameters, now)
        const [next, effects] = stepped
        if (next.name !== 'Backup' || next === state) return stepped
        if (effects[0]?.kind === 'refused') {
          const [known, more] = hearLower(state, withReason(next, state), event, parameters, now)
          return more.length === 0 ? [known, effects] : [known, [...effects, ...more]]
        }
        // The Active has sent priority 0. After priority 0, the fast preemption that shortened the wait is over.
        return state.regularDownAt === undefined ? stepped : [withdraw(next), effects]
      },
      deadlineReached: (inner, state, event, parameters, now) => {
        const isUnconfirmed = state.asksChecks === true && now >= state.activeDownAt
        return isUnconfirmed ? takeBack(state, parameters, now) : inner(state, event, parameters, now)
      },
      checksAnswered: (_inner, state, event, parameters, now) => {
        const { active, asksChecks } = state
        if (asksChecks !== true) return [state, []]
        const confirmed = active !== undefined && outranks(event.assured, active.priority, parameters)
        // A confirmation of the health checks in time is enough. Without a confirmation in time, this Backup waits
        // until the timer of line (470) expires.
        return confirmed ? [{ ...state, asksChecks: undefined }, []] : takeBack(state, parameters, now)
      },
    },
  },
}

const withdraw = (state: Backup): Backup => ({ ...state, regularDownAt: undefined, asksChecks: undefined })

/** Keeps the reason for which the wait of a Backup was shortened. */
const withReason = (next: Backup, { downReason, regularDownAt }: Backup): Backup =>
  regularDownAt === undefined ? next : { ...next, downReason }

/**
 * Decides whether a Backup waits for a shorter time after line (470) has refused an advertisement. `known` is the state
 * after the refusal.
 */
function hearLower(
  state: Backup,
  known: Backup,
  event: Received,
  parameters: Parameters,
  now: Millis,
): readonly [Backup, readonly Effect[]] {
  const { source, advertisement } = event
  const { active, activeAdverInterval: interval } = state
  const { priority, version, extensions, assured = priority } = parameters
  const isDemotion = active?.source === source && !outranks(priority, active.priority, parameters)
  if (!isDemotion || state.downReason === 'activeReleased' || isOwner(parameters)) return [known, []]
  const isSure = outranks(assured, advertisement.priority, parameters)
  // The timer of line (470) does not wait for the health checks. The extra run of the checks, however, finds a backend
  // that all nodes have lost before that timer expires.
  const ask = isSure || state.activeDownAt <= now ? [] : [asking(millis(state.activeDownAt - now))]
  const isSettled = now - state.enteredAt >= activeDownInterval(priority, interval, version)
  if (extensions.fastPreempt !== true || !isSettled) return [known, ask]
  if (state.holderChangedAt !== undefined && now - state.holderChangedAt < parameters.minHold) {
    return [known, [{ kind: 'moveSuppressed', reason: 'minHold', source, at: now }, ...ask]]
  }
  const soon = plus(now, releasedDelay(parameters, interval, source))
  const activeDownAt = millis(Math.min(state.activeDownAt, soon))
  const sooner: Backup = { ...known, activeDownAt, regularDownAt: state.activeDownAt, downReason: 'activeDemoted' }
  if (activeDownAt === state.activeDownAt) return [sooner, ask]
  return isSure ? [sooner, []] : [{ ...sooner, asksChecks: true }, [asking(millis(activeDownAt - now))]]
}

const asking = (within: Millis): Effect => ({ kind: 'askChecks', within })

/**
 * Withdraws a fast preemption that the health checks have not confirmed: line (470) decides, as without `fastPreempt`.
 */
function takeBack(state: Backup, parameters: Parameters, now: Millis): Step {
  const { active, regularDownAt = state.activeDownAt } = state
  if (regularDownAt <= now) return becomeActive(parameters, now, 'Backup', 'lowerPriorityActive')
  const next: Backup = { ...withdraw(state), activeDownAt: regularDownAt, downReason: 'lowerPriorityActive' }
  if (active === undefined) return [next, []]
  return [next, [{ kind: 'moveSuppressed', reason: 'checksUnanswered', source: active.source, at: now }]]
}

/**
 * Returns the state that follows the Active again after our own priority fell to or below that of the Active.
 * `undefined` if the Backup cannot follow the Active again: the extension is off, or the Active has sent priority 0.
 * This value is also used while the timer of line (470) runs.
 */
export function withdrawn(state: Backup, parameters: Parameters): Backup | undefined {
  const { active, activeAdverInterval: interval } = state
  if (parameters.extensions.fastPreempt !== true) return undefined
  if (active === undefined || state.downReason === 'activeReleased') return undefined
  return {
    ...withdraw(state),
    activeDownAt: plus(active.heardAt, activeDownDelay(parameters, interval, active.source)),
    downReason: 'activeSilent',
    heldSince: undefined,
  }
}
