/**
 * Lost packets (ground rule 2): packets were lost, or this process slept too long, so an advertisement that would have kept
 * this Backup waiting may be among them. Its deadline then starts again once, and the next one decides. Refuses to know how
 * a loss is noticed. In every profile.
 */
import { type Millis, plus } from '../../wire/units.ts'
import type { Parameters } from '../parameters.ts'
import type { Backup } from '../state.ts'
import { always, type Extension } from './extension.ts'
import { activeDownDelay } from './stagger.ts'

export const lostPackets: Extension = {
  name: 'lost-packets',
  isOn: always,
  wraps: {
    Backup: {
      deadlineReached: (inner, state, event, parameters, now) => {
        const isDoubtful = event.receptionLost && !state.extended && now >= state.activeDownAt
        return isDoubtful ? [extend(state, parameters, now), []] : inner(state, event, parameters, now)
      },
    },
  },
}

/** A whole Active_Down_Interval from now on, also for a preemption that was pending (preemption/fast-preempt.ts). */
function extend(state: Backup, parameters: Parameters, now: Millis): Backup {
  const delay = activeDownDelay(parameters, state.activeAdverInterval, state.active?.source)
  return { ...state, activeDownAt: plus(now, delay), regularDownAt: undefined, extended: true, asksChecks: undefined }
}
