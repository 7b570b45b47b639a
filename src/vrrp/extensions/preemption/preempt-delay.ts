/**
 * Preempt delay (VR-PRE-02, VR-PRE-03): this router follows an Active of lower priority as if Preempt_Mode were False
 * (445), until the delay after the first advertisement of that Active is over. An Active of equal or higher priority
 * cancels the delay. A takeover after Active_Down_Interval or after priority 0 is not delayed, and an owner never
 * waits. Option: `preemptDelay`.
 */
import { plus } from '../../../wire/units.ts'
import { isOwner, withoutPreemption } from '../../parameters.ts'
import type { Extension } from '../extension.ts'

export const preemptDelay: Extension = {
  name: 'preempt-delay',
  isOn: (parameters) => parameters.preemptDelay > 0,
  isPending: { Backup: ({ preemptAt }) => preemptAt !== undefined },
  wraps: {
    Backup: {
      advertisementReceived: (inner, state, event, parameters, now) => {
        const { advertisement, receivedAt, source } = event
        const isBelow = advertisement.priority > 0 && advertisement.priority < parameters.priority
        if (!isBelow || source === parameters.primaryAddress || isOwner(parameters)) {
          return inner(state, event, parameters, now)
        }
        const { preempt, preemptDelay: delay } = parameters
        const counts = preempt && delay > 0
        const preemptAt = state.preemptAt ?? (counts ? plus(receivedAt, delay) : undefined)
        const isRunning = counts && preemptAt !== undefined && receivedAt <= preemptAt
        const [next, effects] = inner(state, event, isRunning ? withoutPreemption(parameters) : parameters, now)
        return [next.name === 'Backup' ? { ...next, preemptAt } : next, effects]
      },
    },
  },
}
