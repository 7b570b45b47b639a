/**
 * Release of the Active: in Backup, priority 0 counts only if it comes from the Active last accepted, or if no Active
 * is known. A repeated priority 0 never makes the Backup wait longer. In the RFC, priority 0 of any router restarts the
 * timer, line (425). `followed.ts` decides which router is the Active. Option: `priorityZeroFromActiveOnly`.
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
        // True for the second copy of priority 0, and for priority 0 while a fast preemption is pending
        // (preemption/fast-preempt.ts).
        const isShort = state.downReason === 'activeReleased' || state.regularDownAt !== undefined
        if (!isShort || next.name !== 'Backup') return [next, effects]
        return [{ ...next, activeDownAt: millis(Math.min(state.activeDownAt, next.activeDownAt)) }, effects]
      },
    },
  },
}
