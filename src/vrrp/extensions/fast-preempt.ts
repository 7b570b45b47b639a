/**
 * fastPreempt (docs/architecture.md, Protocol decisions): when the Active that we follow lowers its own priority below ours, waiting out a whole
 * Active_Down_Interval protects nobody. It acts on that demotion only, never on a stray lower advertisement, so that a
 * rival heard one way cannot start a duel; minHold keeps a flapping check from moving the addresses to and fro. An
 * advantage that rests on health checks has to be confirmed by them meanwhile (docs/adr/0025): when all nodes lose the
 * same backend, the first to notice is no worse than the others.
 */
import { type Millis, millis, plus } from '../../wire/units.ts'
import type { Effect } from '../effect.ts'
import type { Event } from '../event.ts'
import { isOwner, outranks, type Parameters } from '../parameters.ts'
import type { Backup } from '../state.ts'
import { activeDownInterval, skewTime, staggerDelay } from '../timers.ts'
import { activeDownDelay, becomeActive, type Step } from '../transition.ts'

/** Row B5 has refused the advertisement; this decides what is remembered of it and whether the wait gets shorter. */
export function fastPreempt(
  state: Backup,
  event: Extract<Event, { kind: 'advertisementReceived' }>,
  parameters: Parameters,
  now: Millis,
): readonly [Backup, readonly Effect[]] {
  const { source, advertisement, receivedAt } = event
  const { active, activeAdverInterval: interval } = state
  const { priority, version, knobs, assured = priority } = parameters
  const released = state.downReason === 'activeReleased'
  // What has shortened the wait stays the reason for which it ends.
  const shortened = released || state.regularDownAt !== undefined
  const heard: Backup = { ...state, downReason: shortened ? state.downReason : 'lowerPriorityActive' }
  if (active === undefined || active.source !== source) return [heard, []]
  const demoted = !outranks(priority, active.priority, parameters)
  const known: Backup = { ...heard, active: { source, priority: advertisement.priority, heardAt: receivedAt } }
  const settled = now - state.enteredAt >= activeDownInterval(priority, interval, version)
  const held = state.ownerChangedAt !== undefined && now - state.ownerChangedAt < parameters.minHold
  if (!demoted || released || isOwner(parameters)) return [known, []]
  const isSure = outranks(assured, advertisement.priority, parameters)
  // Row B5 waits for no answer; but a backend that all have lost is found out before it acts.
  const ask = isSure || state.activeDownAt <= now ? [] : [asking(millis(state.activeDownAt - now))]
  if (!knobs.fastPreempt || !settled) return [known, ask]
  if (held) return [known, [{ kind: 'moveSuppressed', reason: 'minHold', source, at: now }, ...ask]]
  const delay = skewTime(priority, interval, version) + staggerDelay(parameters, interval, source)
  const activeDownAt = millis(Math.min(state.activeDownAt, plus(now, delay)))
  const sooner: Backup = {
    ...known,
    activeDownAt,
    regularDownAt: state.activeDownAt,
    downReason: 'activeDemoted',
  }
  if (activeDownAt === state.activeDownAt) return [sooner, ask]
  return isSure ? [sooner, []] : [{ ...sooner, asksChecks: true }, [asking(millis(activeDownAt - now))]]
}

const asking = (within: Millis): Effect => ({ kind: 'askChecks', within })

/** Who has answered in time is enough, or the wait is as long again as row B5 makes it. */
export function checksAnswered(state: Backup, assured: number, parameters: Parameters, now: Millis): Step {
  const { active, asksChecks } = state
  if (asksChecks !== true) return [state, []]
  const confirmed = active !== undefined && outranks(assured, active.priority, parameters)
  return confirmed ? [{ ...state, asksChecks: undefined }, []] : takeBack(state, parameters, now)
}

/** The checks have not said that the advantage still holds: row B5 decides, as if there were no fastPreempt. */
export function takeBack(state: Backup, parameters: Parameters, now: Millis): Step {
  const { active, regularDownAt = state.activeDownAt } = state
  if (regularDownAt <= now) return becomeActive(parameters, now, 'Backup', 'lowerPriorityActive')
  const next: Backup = {
    ...state,
    activeDownAt: regularDownAt,
    regularDownAt: undefined,
    downReason: 'lowerPriorityActive',
    asksChecks: undefined,
  }
  if (active === undefined) return [next, []]
  return [next, [{ kind: 'moveSuppressed', reason: 'checksUnanswered', source: active.source, at: now }]]
}

/**
 * Our own priority moved (VR-TM-06): the running timer moves by the difference of the two Active_Down_Intervals, and a
 * pending fastPreempt is taken back when the Active is no longer below us.
 */
export function priorityChangedInBackup(state: Backup, previous: number, parameters: Parameters): Backup {
  const { active, activeAdverInterval: interval } = state
  // The same holds while row B5 lets the timer run out: an Active that is there and no longer below us stays.
  const overtaken =
    active !== undefined &&
    outranks(previous, active.priority, parameters) &&
    !outranks(parameters.priority, active.priority, parameters)
  if (overtaken && parameters.knobs.fastPreempt && state.downReason !== 'activeReleased') {
    return {
      ...state,
      activeDownAt: plus(active.heardAt, activeDownDelay(parameters, interval, active.source)),
      regularDownAt: undefined,
      downReason: 'activeSilent',
      heldSince: undefined,
      asksChecks: undefined,
    }
  }
  // VR-SG-03: without fastPreempt the timer runs on, but the wish for which a group might go at any moment is over.
  const held = overtaken && state.heldSince !== undefined ? { heldSince: undefined } : {}
  const before = activeDownDelay({ ...parameters, priority: previous }, interval, active?.source)
  const moved = activeDownDelay(parameters, interval, active?.source) - before
  return {
    ...state,
    ...held,
    activeDownAt: plus(state.activeDownAt, moved),
    regularDownAt: state.regularDownAt === undefined ? undefined : plus(state.regularDownAt, moved),
  }
}
