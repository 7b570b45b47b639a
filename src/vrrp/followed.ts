/**
 * Which router a Backup takes for the Active. RFC 9568 §6.4.2 restarts a timer and needs no name for the sender; status, the
 * reason of a transition and the extensions do. Decided here: which router that is, and what is noted of a refused advertisement.
 * No timer depends on it.
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

/** Returns the Active after an accepted advertisement: its sender, or the one before when the sender has just lost to it. */
export function followed(state: Backup, event: Received): HeardActive {
  const { active } = state
  return active !== undefined && isStray(state, active, event) ? active : heardFrom(event)
}

/**
 * The last advertisement of a router that has lost must not make it the Active whose priority 0 and demotion count. After a
 * release the next sender is the successor, whatever its priority.
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

/** Returns the state after line (470): the timer keeps running, and the lower Active is the reason when it runs out. */
export function noteLower(state: Backup, event: Received): Backup {
  const { active } = state
  return {
    ...state,
    // A release stays the reason: it is why the timer is short.
    downReason: state.downReason === 'activeReleased' ? state.downReason : 'lowerPriorityActive',
    active: active?.source === event.source ? heardFrom(event) : active,
  }
}
