/**
 * Priority change: the effective priority moved, because a health check or an interface did, or a reload. In Backup the running
 * timer moves with it (VR-TM-06), in every profile. An Active advertises the change before the next scheduled advertisement, at
 * most once an interval (VR-TM-07). Refuses to know why the priority moved. Option of the second: `advertisePriorityChange`.
 */
import { centisToMillis, type Millis, plus } from '../../wire/units.ts'
import type { AdvertisementReason } from '../effect.ts'
import { advertise, type Step } from '../fsm.ts'
import { outranks, type Parameters } from '../parameters.ts'
import type { Active, Backup } from '../state.ts'
import { always, type Extension } from './extension.ts'
import { withdrawn } from './preemption/fast-preempt.ts'
import { activeDownDelay } from './stagger.ts'

export const priorityChange: Extension = {
  name: 'priority-change',
  isOn: always,
  wraps: {
    Backup: {
      priorityChanged: (_inner, state, event, parameters) => [moveTimer(state, event.previous, parameters), []],
    },
  },
}

export const advertiseChange: Extension = {
  name: 'advertise-change',
  isOn: ({ extensions }) => extensions.advertiseChange === true,
  wraps: {
    Active: {
      priorityChanged: (_inner, state, _event, parameters, now) => {
        return advertiseSoon(state, parameters, now, 'priorityChanged')
      },
    },
  },
}

/**
 * The running timer moves by the difference of the two Active_Down_Intervals; so does that of line (470) while a fast preemption
 * is pending, which is withdrawn if the Active is no longer below us.
 */
export function moveTimer(state: Backup, previous: number, parameters: Parameters): Backup {
  const { active, activeAdverInterval: interval } = state
  const overtaken =
    active !== undefined &&
    outranks(previous, active.priority, parameters) &&
    !outranks(parameters.priority, active.priority, parameters)
  const following = overtaken ? withdrawn(state, parameters) : undefined
  if (following !== undefined) return following
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

/** An extra advertisement, at most one an interval: what changes in between, the scheduled one carries. */
export function advertiseSoon(
  state: Active,
  parameters: Parameters,
  now: Millis,
  reason: Extract<AdvertisementReason, 'priorityChanged' | 'parametersChanged'>,
): Step {
  if (parameters.extensions.advertiseChange !== true) return [state, []]
  const interval = centisToMillis(parameters.advertisementInterval)
  if (state.changeSentAt !== undefined && now - state.changeSentAt < interval) return [state, []]
  return [{ ...state, changeSentAt: now }, [advertise(parameters, reason)]]
}
