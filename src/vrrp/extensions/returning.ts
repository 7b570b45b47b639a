/**
 * Returning (ground rule 3): the way back of an Active that was away. Its guardian has executed its cleanup plan, or it slept so
 * long that others may have acted. It holds nothing, drains, asks for its addresses, and is Active again only if no other
 * router is there. It sends no priority 0, because a router that took over needs none. Refuses to know how an absence is
 * noticed, and what is behind an answer: those are facts from outside. In every profile.
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

/** A host of the LAN has answered a question by then. */
const ANSWERED_WITHIN = 20
/** In intervals of silence: as the deadline of the cleanup plan, and no Backup gives up earlier. */
const SILENCE = 3
const SHORTEST_INTERVAL = 10
/** An Active whose advertisement is not later than this is late for no Backup, whatever its interval. */
export const LEAST_SILENCE = (SILENCE - 1) * SHORTEST_INTERVAL

/** Away again: the deadline is drained for anyway, and a second absence must not put it off for ever, so it is no event here. */
export const returning: Extension = {
  name: 'returning',
  isOn: always,
  wraps: {
    Active: {
      absenceNoticed: (_inner, state, event, parameters, now) => comeBack(state, event, parameters, now),
    },
    Returning: {
      advertisementReceived: (_inner, state, event, parameters, now) => hear(state, event, parameters, now),
      claimHeard: (_inner, state, event, parameters, now) => hearHolder(state, event.address, parameters, now),
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
 * Its own silence alone, without a guardian that could have acted. Counted from the last advertisement and not from the
 * beginning of the stall, because that is what the others count. `adverAt` was at most an interval after it.
 */
export function wasSilentTooLong(state: State, parameters: Parameters, now: Millis): boolean {
  if (state.name !== 'Active') return false
  return now - state.adverAt > (SILENCE - 1) * centisToMillis(parameters.advertisementInterval)
}

/**
 * A router whose addresses are the node's own is Active whenever it runs (RFC 9568 §6.1): they were never taken off, but others
 * took over. An owner that installs them (docs/adr/0008) has lost them to its guardian and listens like any other router.
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

/** For a member of a sync group, an owner among others too: the group goes together. */
export function enterReturning(event: AbsenceNoticed, parameters: Parameters, now: Millis): Step {
  const { cause, linkWasUp } = event
  const effects: Effect[] = [
    // A guardian that slept as well has left them where another router may answer by now.
    { kind: 'removeAddresses', addresses: parameters.addresses },
    { kind: 'transition', from: 'Active', to: 'Returning', reason: cause },
  ]
  // Due immediately: a deadline is what the queues are drained for (ground rule 2).
  return [{ name: 'Returning', phase: 'drain', until: now, linkWasUp }, effects]
}

/** For a sync group: this member could be Active, another one is not so far. */
export function standBy(state: Returning, now: Millis): Returning {
  return { ...state, phase: 'ready', until: plus(now, ANSWERED_WITHIN) }
}

/** Everything was heard, and no other router is there: as at any takeover, advertisement first. */
export function takeBack(parameters: Parameters, now: Millis): Step {
  return becomeActive(parameters, now, 'Returning', 'nobodyElse', 'returned')
}

/** Another router is there, or might be: a full Active_Down_Interval from now on, or from what was heard. */
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

/** Whatever its priority: it has the addresses. Line (470) may take them back, after an Active_Down_Interval. */
function hear(state: Returning, event: Received, parameters: Parameters, now: Millis): Step {
  const { source, advertisement, receivedAt } = event
  // Our guardian's priority 0 among them, VR-RX-16.
  if (source === parameters.primaryAddress) return [state, [{ kind: 'refused', reason: 'self-originated', source }]]
  const { priority, interval } = advertisement
  if (priority === 0) return hearRelease(event, parameters, now)
  const heard: HeardActive = { source, priority, heardAt: receivedAt }
  const learned = parameters.version === 3 ? interval : parameters.advertisementInterval
  return retreat(parameters, now, 'activeHeard', { heard, interval: learned })
}

/** Another host has `address`. */
const hearHolder = (state: Returning, address: Address, parameters: Parameters, now: Millis): Step =>
  parameters.addresses.includes(address) ? retreat(parameters, now, 'addressClaimed') : [state, []]

/** It has gone already; but other Backups wait for their Skew_Time now, and so does this router (430). */
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
    // Its deadline starts at now because packets were lost: that counts as the one time (ground rule 2).
    return [next.name === 'Backup' ? { ...next, extended: receptionLost } : next, effects]
  }
  if (state.phase !== 'drain') return takeBack(parameters, now)
  return [{ ...state, phase: 'probe', until: plus(now, ANSWERED_WITHIN) }, [{ kind: 'probeAddresses' }]]
}
