/**
 * fastPreempt: when the Active that we follow lowers its own priority below ours, waiting out a whole Active_Down_Interval
 * protects nobody. It acts on that demotion only, never on a stray lower advertisement, so that a competing Active heard one way
 * cannot start a duel; minHold keeps a flapping check from moving the addresses again and again. An advantage that rests on
 * health checks has to be confirmed by them meanwhile (docs/adr/0025): when all nodes lose the same backend, the first to
 * notice is no worse than the others. Options: `fastPreempt`, `minHold`, `assured`.
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
        // Released, and what has shortened the wait until now is over.
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
        // An answer in time is enough, or the wait is as long again as line (470) makes it.
        return confirmed ? [{ ...state, asksChecks: undefined }, []] : takeBack(state, parameters, now)
      },
    },
  },
}

const withdraw = (state: Backup): Backup => ({ ...state, regularDownAt: undefined, asksChecks: undefined })

/** What has shortened the wait stays the reason for which it ends. */
const withReason = (next: Backup, { downReason, regularDownAt }: Backup): Backup =>
  regularDownAt === undefined ? next : { ...next, downReason }

/** Line (470) has refused the advertisement (`known`); decides whether the wait gets shorter. */
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
  // Line (470) waits for no answer; but a backend that all have lost is found out before the timer runs out.
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

/** The checks have not confirmed the advantage: line (470) decides, as if there were no fastPreempt. */
function takeBack(state: Backup, parameters: Parameters, now: Millis): Step {
  const { active, regularDownAt = state.activeDownAt } = state
  if (regularDownAt <= now) return becomeActive(parameters, now, 'Backup', 'lowerPriorityActive')
  const next: Backup = { ...withdraw(state), activeDownAt: regularDownAt, downReason: 'lowerPriorityActive' }
  if (active === undefined) return [next, []]
  return [next, [{ kind: 'moveSuppressed', reason: 'checksUnanswered', source: active.source, at: now }]]
}

/**
 * Our own priority fell to or below that of an Active that is there: it stays. Returns the state that follows it again, and
 * `undefined` if it does not (off, or released). The same holds while line (470) lets the timer run out.
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
