/**
 * Priority change: a health check, an interface or a reload has changed the effective priority. In Backup the running
 * Active_Down_Timer moves by the difference, in every profile (VR-TM-06). An Active advertises the change before the
 * next periodic advertisement, at most once an interval (VR-TM-07). The extension does not know why the priority
 * changed. Option of the extra advertisement: `advertisePriorityChange`.
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
 * Moves the running timer of a Backup by the difference of the two Active_Down_Intervals. While a fast preemption is
 * pending, the timer of line (470) moves, too. The fast preemption is withdrawn if the priority of the Active is no
 * longer below ours.
 */
export function moveTimer(state: Backup, previous: number, parameters: Parameters): Backup {
  const { active, activeAdverInterval: interval } = state
  const overtaken =
    active !== undefined &&
    outranks(previous, active.priority, parameters) &&
    !outranks(parameters.priority, active.priority, parameters)
  const following = overtaken ? withdrawn(state, parameters) : undefined
  if (following !== undefined) return following
  // VR-SG-03: without fastPreempt the timer of this member keeps running, but the member no longer wants its sync group
  // to become Active.
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

/**
 * Sends an extra advertisement with the changed priority, at most one an interval. The next periodic advertisement
 * carries later changes.
 */
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
