/**
 * Returning (ground rule 3): the way back of an Active that was away. Its guardian has executed the cleanup plan, or
 * the engine slept so long that other routers may have acted. It has no addresses. It drains its sockets and asks the
 * LAN for its addresses. It becomes Active again only if no other router is there. It sends no priority 0, because a
 * router that took over needs none. This file does not know how an absence is noticed, or which host answers. On in
 * every profile.
 */
import type { Address } from '../../wire/address.ts'
import { centisToMillis, type Millis, plus } from '../../wire/units.ts'
import type { Effect, TransitionReason } from '../effect.ts'
import type { Event } from '../event.ts'
import { advertise, type Step, stop } from '../fsm.ts'
import { ownsAddresses, type Parameters } from '../parameters.ts'
import type { Active, HeardActive, Returning, State } from '../state.ts'
import { becomeActive, enterBackup } from './enter.ts'
import { always, type Extension } from './extension.ts'
import { fail } from './faults.ts'
import { releasedDelay } from './stagger.ts'

type AbsenceNoticed = Extract<Event, { kind: 'absenceNoticed' }>
type Received = Extract<Event, { kind: 'advertisementReceived' }>

/** Milliseconds in which a host of the LAN answers a question. */
const ANSWERED_WITHIN = 20
/**
 * Number of silent intervals after which others may act. The deadline of the cleanup plan is the same, and no Backup
 * acts earlier.
 */
const SILENCE = 3
/** Shortest advertisement interval, in milliseconds. */
const SHORTEST_INTERVAL = 10
/**
 * Milliseconds. An advertisement that is later by no more than this is in time for every Backup, whatever the interval.
 */
export const LEAST_SILENCE = (SILENCE - 1) * SHORTEST_INTERVAL

/**
 * A second absence in Returning is not an event here. The deadline drains the sockets anyway, and absences must not
 * delay it for ever.
 */
export const returning: Extension = {
  name: 'returning',
  isOn: always,
  wraps: {
    Active: {
      absenceNoticed: (_inner, state, event, parameters, now) => comeBack(state, event, parameters, now),
    },
    Returning: {
      advertisementReceived: (_inner, state, event, parameters, now) => hear(state, event, parameters, now),
      announcementHeard: (_inner, state, event, parameters, now) => hearHolder(state, event.address, parameters, now),
      addressAnswered: (_inner, state, event, parameters, now) => hearHolder(state, event.address, parameters, now),
      deadlineReached: (_inner, state, event, parameters, now) => {
        return now < state.until ? [state, []] : expire(state, event.receptionLost, parameters, now)
      },
      shutdown: () => stop('Returning', 'shutdown'),
      faultRaised: (_inner, _state, event) => fail('Returning', event.fault, false),
    },
  },
}

/**
 * Tells whether the Active was silent for too long, without a guardian that could have acted. It counts from the last
 * advertisement, as other routers do, not from the begin of the stall. `adverAt` is at most an interval after that.
 */
export function wasSilentTooLong(state: State, parameters: Parameters, now: Millis): boolean {
  if (state.name !== 'Active') return false
  return now - state.adverAt > (SILENCE - 1) * centisToMillis(parameters.advertisementInterval)
}

/**
 * Handles an absence of an Active. If the addresses are the node's own, they were never removed, and the router is
 * Active whenever it runs (RFC 9568 §6.1). An owner that installs its addresses (docs/adr/0008) has lost them to the
 * guardian, and listens like any other router.
 */
function comeBack(state: Active, event: AbsenceNoticed, parameters: Parameters, now: Millis): Step {
  if (!ownsAddresses(parameters)) return enterReturning(event, parameters, now)
  const adverAt = plus(now, centisToMillis(parameters.advertisementInterval))
  const effects: Effect[] = [
    advertise(parameters, 'returned'),
    { kind: 'installAddresses' },
    { kind: 'announce', reason: 'takeover' },
  ]
  return [{ ...state, adverAt }, effects]
}

/** Returns the step to Returning. Members of a sync group enter it together, owners included. */
export function enterReturning(event: AbsenceNoticed, parameters: Parameters, now: Millis): Step {
  const { cause, linkWasUp } = event
  const effects: Effect[] = [
    // If the guardian slept as well, the addresses are still here, and another router may answer for them.
    { kind: 'removeAddresses', addresses: parameters.addresses },
    { kind: 'transition', from: 'Active', to: 'Returning', reason: cause },
  ]
  // The deadline is due immediately, because deadlines drain the queues (ground rule 2).
  return [{ name: 'Returning', phase: 'drain', until: now, linkWasUp }, effects]
}

/** Waits for the sync group: this member may become Active, but another one may not yet. */
export function standBy(state: Returning, now: Millis): Returning {
  return { ...state, phase: 'ready', until: plus(now, ANSWERED_WITHIN) }
}

/** Becomes Active, advertisement first, after all queues were drained and no other router was found. */
export function takeBack(parameters: Parameters, now: Millis): Step {
  return becomeActive(parameters, now, 'Returning', 'nobodyElse', 'returned')
}

/**
 * Becomes Backup, because another router is there or may be. Waits a full Active_Down_Interval from now, or from that
 * router's advertisement.
 */
export function retreat(parameters: Parameters, now: Millis, reason: TransitionReason, active?: Successor): Step {
  return enterBackup(parameters, now, {
    from: 'Returning',
    reason,
    active: active?.heard,
    activeAdverInterval: active?.interval ?? parameters.advertisementInterval,
    holderChanged: true,
  })
}

type Successor = { readonly heard: HeardActive; readonly interval: Parameters['advertisementInterval'] }

/**
 * Follows the sender of an advertisement, whatever its priority, because it has the addresses. After an
 * Active_Down_Interval, line (470) may take them back.
 */
function hear(state: Returning, event: Received, parameters: Parameters, now: Millis): Step {
  const { source, advertisement, receivedAt } = event
  // The priority 0 of our guardian is refused here, too (VR-RX-16).
  if (source === parameters.primaryAddress) return [state, [{ kind: 'refused', reason: 'self-originated', source }]]
  const { priority, interval } = advertisement
  if (priority === 0) return hearRelease(event, parameters, now)
  const heard: HeardActive = { source, priority, heardAt: receivedAt }
  const learned = parameters.version === 3 ? interval : parameters.advertisementInterval
  return retreat(parameters, now, 'activeHeard', { heard, interval: learned })
}

/** Becomes Backup, because another host has `address`. */
const hearHolder = (state: Returning, address: Address, parameters: Parameters, now: Millis): Step =>
  parameters.addresses.includes(address) ? retreat(parameters, now, 'addressClaimed') : [state, []]

/**
 * Handles priority 0: the sender is gone already. Other Backups wait for their Skew_Time now, and so does this router
 * (430).
 */
function hearRelease({ source, receivedAt }: Received, parameters: Parameters, now: Millis): Step {
  const [next, effects] = retreat(parameters, now, 'activeHeard')
  if (next.name !== 'Backup') return [next, effects]
  const activeDownAt = plus(receivedAt, releasedDelay(parameters, parameters.advertisementInterval, source))
  const named = effects.map((effect) => (effect.kind === 'transition' ? { ...effect, peer: source } : effect))
  return [{ ...next, activeDownAt, downReason: 'activeReleased' }, named]
}

function expire(state: Returning, receptionLost: boolean, parameters: Parameters, now: Millis): Step {
  if (receptionLost || !state.linkWasUp) {
    const [next, effects] = retreat(parameters, now, receptionLost ? 'receptionLost' : 'linkWasDown')
    // This restart because of lost packets is the only one (ground rule 2).
    return [next.name === 'Backup' ? { ...next, extended: receptionLost } : next, effects]
  }
  if (state.phase !== 'drain') return takeBack(parameters, now)
  return [{ ...state, phase: 'probe', until: plus(now, ANSWERED_WITHIN) }, [{ kind: 'probeAddresses' }]]
}
