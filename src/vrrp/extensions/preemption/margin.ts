/**
 * Margin: an Active whose priority is lower than ours by no more than the margin is not preempted. This router follows
 * that Active as if Preempt_Mode were False (445). An owner (priority 255) always preempts, whatever the margin is. The
 * extension does not know why priorities differ. Option: `margin`.
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
        // Reported once while the margin prevents a preemption. No delay of preempt-delay.ts runs in that time.
        const withinMargin = { ...next, preemptAt: undefined, withinMargin: true }
        if (state.withinMargin === true) return [withinMargin, []]
        return [withinMargin, [{ kind: 'moveSuppressed', reason: 'margin', source, at: now }]]
      },
    },
  },
}
