/**
 * Margin: an Active whose priority is lower than ours by no more than the margin is not preempted; it is followed as if
 * Preempt_Mode were False (445). An owner needs no margin. Refuses to know the priorities' reasons. Option: `margin`.
 */
import { isOwner, outranks, withoutPreemption } from '../../parameters.ts'
import type { Extension } from '../extension.ts'

export const margin: Extension = {
  name: 'margin',
  isOn: (parameters) => (parameters.margin ?? 0) > 0,
  wraps: {
    Backup: {
      advertisementReceived: (inner, state, event, parameters, now) => {
        const { source } = event
        const theirs = event.advertisement.priority
        const isBelow = theirs > 0 && theirs < parameters.priority && source !== parameters.primaryAddress
        const preempts = parameters.preempt && !isOwner(parameters)
        if (!isBelow || !preempts || outranks(parameters.priority, theirs, parameters)) {
          return inner(state, event, parameters, now)
        }
        const [next] = inner(state, event, withoutPreemption(parameters), now)
        if (next.name !== 'Backup') return [next, []]
        // Reported once for as long as it lasts. No delay of preempt-delay.ts runs meanwhile.
        const spared = { ...next, preemptAt: undefined, spared: true }
        if (state.spared === true) return [spared, []]
        return [spared, [{ kind: 'moveSuppressed', reason: 'margin', source, at: now }]]
      },
    },
  },
}
