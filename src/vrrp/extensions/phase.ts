/**
 * Phase: the first periodic advertisement of an Active comes after a share of Advertisement_Interval. So many routers
 * of one node do not send in the same millisecond. It is never later than in the RFC (VR-TM-05). This file does not
 * know how the share is computed. Option: `phase`.
 */
import { centisToMillis, type Millis, plus } from '../../wire/units.ts'
import type { Step } from '../fsm.ts'
import type { Parameters } from '../parameters.ts'
import type { Extension } from './extension.ts'

/** Moves the first deadline of an Active that was just entered. */
export function phaseEntry(entered: Step, { advertisementInterval, phase = 1 }: Parameters, now: Millis): Step {
  const [next, effects] = entered
  if (next.name !== 'Active' || phase === 1) return entered
  return [{ ...next, adverAt: plus(now, centisToMillis(advertisementInterval) * phase) }, effects]
}

export const phase: Extension = {
  name: 'phase',
  isOn: (parameters) => parameters.phase !== undefined && parameters.phase !== 1,
  wraps: {
    Initialize: {
      startup: (inner, state, event, parameters, now) => {
        return phaseEntry(inner(state, event, parameters, now), parameters, now)
      },
    },
    Backup: {
      deadlineReached: (inner, state, event, parameters, now) => {
        return phaseEntry(inner(state, event, parameters, now), parameters, now)
      },
    },
  },
}
