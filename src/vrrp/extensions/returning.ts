/**
 * Returning (ground rule 3: a node that was away listens first): the way back of an Active that was away. The guardian
 * of such an Active has executed the cleanup plan, or the engine slept so long that other routers may have acted. A
 * router in Returning has no addresses. The router drains its sockets and asks the LAN which host has its addresses. A
 * router in Returning becomes Active again only if no other router is Active. A router in Returning sends no priority
 * 0, because a router that took over needs none. The extension returning does not know how an absence is noticed, or
 * which host answers. The extension is on in every profile.
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

/** Milliseconds within which a host of the LAN answers an ARP request or Neighbor Solicitation. */
const ANSWERED_WITHIN = 20
/**
 * Number of intervals without an advertisement after which other routers may act. The deadline of the cleanup plan is
 * the same, and no Backup acts earlier.
 */
const SILENCE = 3
/** Shortest advertisement interval, in milliseconds. */
const SHORTEST_INTERVAL = 10
/**
 * Milliseconds by which an advertisement may be late. Every Backup still receives it in time, whatever the interval.
 */
export const LEAST_SILENCE = (SILENCE - 1) * SHORTEST_INTERVAL

/**
 * A second absence in Returning has no effect. The deadline drains the sockets anyway, and absences must not delay it
 * for ever.
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
 * Tells whether an Active sent no advertisement for too long, without a guardian that could have acted. The time counts
 * from the last advertisement, as other routers count it, not from the begin of the stall. `adverAt` is at most an
 * interval after the last advertisement.
 */
export function wasSilentTooLong(state: State, parameters: Parameters, now: Millis): boolean {
  if (state.name !== 'Active') return false
  return now - state.adverAt > (SILENCE - 1) * centisToMillis(parameters.advertisementInterval)
}

/**
 * Handles an absence of an Active. Addresses that are the node's own were never removed, and such a router is Active
 * whenever it runs (RFC 9568 §6.1). If an owner installs its addresses (docs/adr/0008), the guardian has removed them,
 * and the owner listens like any other router.
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
    // If the guardian slept as well, the addresses are still on this node, and another router may answer for them.
    { kind: 'removeAddresses', addresses: parameters.addresses },
    { kind: 'transition', from: 'Active', to: 'Returning', reason: cause },
  ]
  // The deadline in Returning is due immediately, because the engine drains its queues at a deadline (ground rule 2: a
  // waiting packet counts).
  return [{ name: 'Returning', phase: 'drain', until: now, linkWasUp }, effects]
}

/** Waits for the sync group: this member may become Active, but another member may not yet. */
export function standBy(state: Returning, now: Millis): Returning {
  return { ...state, phase: 'ready', until: plus(now, ANSWERED_WITHIN) }
}

/** Becomes Active again after all queues were drained and no other router was found. The advertisement comes first. */
export function takeBack(parameters: Parameters, now: Millis): Step {
  return becomeActive(parameters, now, 'Returning', 'nobodyElse', 'returned')
}

/**
 * Becomes Backup, because another router is Active or may be. Waits a full Active_Down_Interval from now, or from that
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
 * Follows the sender of an advertisement, whatever its priority, because the sender has the addresses. After an
 * Active_Down_Interval, line (470) may take the addresses back.
 */
function hear(state: Returning, event: Received, parameters: Parameters, now: Millis): Step {
  const { source, advertisement, receivedAt } = event
  // The priority 0 that our own guardian sent is refused here, too (VR-RX-16).
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
 * Handles priority 0 in Returning: its sender has already stopped being Active. Other Backups now wait for their
 * Skew_Time, and so does this router (430).
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
    // Active_Down_Timer restarts only once because of lost packets. The restart on this line is the one because of lost
    // packets (ground rule 2: a waiting packet counts).
    return [next.name === 'Backup' ? { ...next, extended: receptionLost } : next, effects]
  }
  if (state.phase !== 'drain') return takeBack(parameters, now)
  return [{ ...state, phase: 'probe', until: plus(now, ANSWERED_WITHIN) }, [{ kind: 'probeAddresses' }]]
}
