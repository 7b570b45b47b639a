/**
 * fastPreempt (design.md §3): when the Active that we follow lowers its own priority below ours, waiting out a whole
 * Active_Down_Interval protects nobody. It acts on that demotion only, never on a stray lower advertisement, so that a
 * rival heard one way cannot start a duel; minHold keeps a flapping check from moving the addresses to and fro.
 */
import { type Millis, millis, plus } from '../wire/units.ts'
import type { Event } from './event.ts'
import { isOwner, type Parameters } from './parameters.ts'
import type { Backup } from './state.ts'
import { activeDownInterval, skewTime, staggerDelay } from './timers.ts'
import { activeDownDelay } from './transition.ts'

/** Row B5 has refused the advertisement; this decides what is remembered of it and whether the wait gets shorter. */
export function fastPreempt(
  state: Backup,
  event: Extract<Event, { kind: 'advertisementReceived' }>,
  parameters: Parameters,
  now: Millis,
): Backup {
  const { source, advertisement, receivedAt } = event
  const { active, activeAdverInterval: interval } = state
  const { priority, version, knobs } = parameters
  const released = state.downReason === 'activeReleased'
  // What has shortened the wait stays the reason for which it ends.
  const shortened = released || state.regularDownAt !== undefined
  const heard: Backup = { ...state, downReason: shortened ? state.downReason : 'lowerPriorityActive' }
  if (active === undefined || active.source !== source) return heard
  const demoted = active.priority >= priority
  const known: Backup = { ...heard, active: { source, priority: advertisement.priority, heardAt: receivedAt } }
  const settled = now - state.enteredAt >= activeDownInterval(priority, interval, version)
  const held = state.ownerChangedAt !== undefined && now - state.ownerChangedAt < parameters.minHold
  if (!knobs.fastPreempt || !demoted || !settled || held || released || isOwner(parameters)) {
    return known
  }
  const delay = skewTime(priority, interval, version) + staggerDelay(parameters, interval, source)
  return {
    ...known,
    activeDownAt: millis(Math.min(state.activeDownAt, plus(now, delay))),
    regularDownAt: state.activeDownAt,
    downReason: 'activeDemoted',
  }
}

/**
 * Our own priority moved (VR-TM-06): the running timer moves by the difference of the two Active_Down_Intervals, and a
 * pending fastPreempt is taken back when the Active is no longer below us.
 */
export function priorityChangedInBackup(state: Backup, previous: number, parameters: Parameters): Backup {
  const { active, activeAdverInterval: interval } = state
  // The same holds while row B5 lets the timer run out: an Active that is there and no longer below us stays.
  const overtaken = active !== undefined && previous > active.priority && parameters.priority <= active.priority
  if (overtaken && parameters.knobs.fastPreempt && state.downReason !== 'activeReleased') {
    return {
      ...state,
      activeDownAt: plus(active.heardAt, activeDownDelay(parameters, interval, active.source)),
      regularDownAt: undefined,
      downReason: 'activeSilent',
      heldSince: undefined,
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
