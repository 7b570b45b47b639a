/**
 * Release of the Active: priority 0 counts in Backup only if it comes from the Active last accepted, or if none is known, and
 * a repeated one never lengthens the wait. By the letter of the RFC (425) any router's priority 0 restarts the timer.
 * Refuses to know which router the Active is (followed.ts). Option: `priorityZeroFromActiveOnly`.
 */
import { millis } from '../../wire/units.ts'
import type { Extension } from './extension.ts'

export const releaseOfActive: Extension = {
  name: 'release-of-active',
  isOn: ({ extensions }) => extensions.releaseOfActive === true,
  wraps: {
    Backup: {
      advertisementReceived: (inner, state, event, parameters, now) => {
        const { advertisement, source } = event
        if (advertisement.priority !== 0 || source === parameters.primaryAddress) {
          return inner(state, event, parameters, now)
        }
        if (state.active !== undefined && state.active.source !== source) {
          return [state, [{ kind: 'refused', reason: 'priority-zero-not-from-active', source }]]
        }
        const [next, effects] = inner(state, event, parameters, now)
        // The second copy, and a release while a fast preemption is pending (preemption/fast-preempt.ts).
        const isShort = state.downReason === 'activeReleased' || state.regularDownAt !== undefined
        if (!isShort || next.name !== 'Backup') return [next, effects]
        return [{ ...next, activeDownAt: millis(Math.min(state.activeDownAt, next.activeDownAt)) }, effects]
      },
    },
  },
}
