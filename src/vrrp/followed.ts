/**
 * Decides which router a Backup regards as the Active, and what a Backup remembers of a refused advertisement. On an
 * advertisement, RFC 9568 §6.4.2 only restarts a timer. The status, the reasons of transitions and the extensions need
 * the sender. No timer depends on followed.ts.
 */
import { compareAddresses } from '../wire/address.ts'
import { centisToMillis } from '../wire/units.ts'
import type { Event } from './event.ts'
import type { Backup, HeardActive } from './state.ts'

type Received = Extract<Event, { kind: 'advertisementReceived' }>

const heardFrom = ({ source, advertisement, receivedAt }: Received): HeardActive => ({
  source,
  priority: advertisement.priority,
  heardAt: receivedAt,
})

/**
 * Returns the router that a Backup regards as the Active after it accepted an advertisement: normally the sender. If
 * the sender has just lost to the current Active, returns the current Active.
 */
export function followed(state: Backup, event: Received): HeardActive {
  const { active } = state
  return active !== undefined && isStray(state, active, event) ? active : heardFrom(event)
}

/**
 * Tells whether an advertisement is the last one of a router that has lost the election. Priority 0 and demotions of
 * such a router must not count. After the Active has sent priority 0, the next sender is the successor, whatever its
 * priority.
 */
function isStray(state: Backup, active: HeardActive, { source, advertisement, receivedAt }: Received): boolean {
  return (
    active.source !== source &&
    state.downReason !== 'activeReleased' &&
    receivedAt - active.heardAt < centisToMillis(state.activeAdverInterval) &&
    (advertisement.priority < active.priority ||
      (advertisement.priority === active.priority && compareAddresses(source, active.source) < 0))
  )
}

/**
 * Returns the state after line (470). Active_Down_Timer keeps running; if it expires, the lower Active is the reason of
 * the takeover.
 */
export function noteLower(state: Backup, event: Received): Backup {
  const { active } = state
  return {
    ...state,
    // Priority 0 has shortened the timer, so it remains the reason of the takeover.
    downReason: state.downReason === 'activeReleased' ? state.downReason : 'lowerPriorityActive',
    active: active?.source === event.source ? heardFrom(event) : active,
  }
}
