/**
 * Phase: the first periodic advertisement of an Active comes after a share of Advertisement_Interval. By this share,
 * the many routers of one node do not all send in the same millisecond. The first periodic advertisement is never later
 * than in the RFC (VR-TM-05). The caller computes the share. Option: `phase`.
 */
import { centisToMillis, type Millis, plus } from '../../wire/units.ts'
import type { Step } from '../fsm.ts'
import type { Parameters } from '../parameters.ts'
import type { Extension } from './extension.ts'

/** Makes the first Adver_Timer of a new Active shorter, by the phase of the router. */
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
