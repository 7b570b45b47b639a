/**
 * Lost packets (ground rule 2: a waiting packet counts): packets were lost, or this process slept too long. An
 * advertisement of the Active may be among the lost packets. For this reason the Active_Down_Timer of this Backup
 * starts again, once. When it expires a second time, the Backup takes over. The extension for lost packets does not
 * know how a loss is noticed. The extension is on in every profile.
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

/**
 * Restarts the Active_Down_Timer for a whole Active_Down_Interval, even if a fast preemption was pending
 * (preemption/fast-preempt.ts).
 */
function extend(state: Backup, parameters: Parameters, now: Millis): Backup {
  const delay = activeDownDelay(parameters, state.activeAdverInterval, state.active?.source)
  return { ...state, activeDownAt: plus(now, delay), regularDownAt: undefined, extended: true, asksChecks: undefined }
}
