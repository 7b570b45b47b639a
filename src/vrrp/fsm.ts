/**
 * The state machine of RFC 9568 §6.4, complete and alone: (state, event, parameters, now) → [next state, effects].
 *
 * Read it beside the RFC. §6.4.1, §6.4.2 and §6.4.3 stand here in the RFC's order. A number such as (420) names a line
 * of §6.4. RFC 5798 prints these numbers. RFC 9568 keeps the lines in the same order without numbers. `docs/rfc9568.md`
 * has the table of lines, errata included.
 *
 * Rule 1: every transition of the RFC is in fsm.ts. With `profile: rfc9568`, no other file decides an election.
 *
 * Rule 2: fsm.ts has only the RFC. Behaviour of holdfast beyond the RFC wraps `step`, in extensions/.
 *
 * Rule 3: fsm.ts does not know interfaces, sockets or clocks. The time is an argument. A timer is a deadline in the
 * state. A `deadlineReached` that comes early or twice changes nothing.
 *
 * fsm.ts has no code for permanent duties of a Backup or an Active, such as answering ARP. The kernel does that for
 * every address on the interface, and the effects `installAddresses` and `removeAddresses` change these addresses. For
 * a Backup these lines are (305), (310), (315), (320), (325), (335) and (340). For an Active they are (605), (610),
 * (615), (620), (625), (630), (635), (645) and (650). The effect `announce` is the gratuitous ARP and the unsolicited
 * Neighbor Advertisement. The group join of (390) happens in the kernel with the installation of the address.
 */
import { compareAddresses } from '../wire/address.ts'
import { type Centis, centisToMillis, type Millis, plus } from '../wire/units.ts'
import type { AdvertisementReason, Effect, StateName, TransitionReason } from './effect.ts'
import type { Event } from './event.ts'
import { followed, noteLower } from './followed.ts'
import { isOwner, type Parameters } from './parameters.ts'
import {
  type Active,
  type Backup,
  type HeardActive,
  type Initialize,
  nextAdvertisementAt,
  plainActive,
  plainBackup,
  type State,
  withAdverAt,
} from './state.ts'
import { activeDownInterval, skewTime } from './timers.ts'

/** The next state of a virtual router, and the effects in the order in which they run. */
export type Step = readonly [State, readonly Effect[]]

type Received = Extract<Event, { kind: 'advertisementReceived' }>

/**
 * Returns the next state of one virtual router and its effects. States and events that are not in the RFC change
 * nothing in `step`; extensions handle them.
 */
export function step(state: State, event: Event, parameters: Parameters, now: Millis): Step {
  switch (state.name) {
    case 'Initialize':
      return stepInitialize(state, event, parameters, now)
    case 'Backup':
      return stepBackup(state, event, parameters, now)
    case 'Active':
      return stepActive(state, event, parameters, now)
    default:
      return [state, []]
  }
}

// RFC 9568 §6.4.1 Initialize ------------------------------------------------------------------------------------------

function stepInitialize(state: Initialize, event: Event, parameters: Parameters, now: Millis): Step {
  switch (event.kind) {
    case 'startup':
      // (100)
      return start(parameters, now, 'startup')
    case 'shutdown':
      return [{ ...state, stopped: true }, []]
    case 'advertisementReceived':
      return [state, [{ kind: 'refused', reason: 'initialize', source: event.source }]]
    default:
      return [state, []]
  }
}

/** Returns the step of a Startup event, lines (105) to (175). */
export function start(parameters: Parameters, now: Millis, reason: 'startup' | 'faultCleared'): Step {
  // (105) Priority 255: the router owns the addresses, lines (110) to (145).
  if (isOwner(parameters)) return becomeActive(parameters, now, 'Initialize', 'owner')
  // (150)
  return enterBackup(parameters, now, {
    from: 'Initialize',
    reason,
    active: undefined,
    // (155) Active_Adver_Interval := Advertisement_Interval; (160) and (165) are in the function enterBackup.
    activeAdverInterval: parameters.advertisementInterval,
    holderChanged: false,
  })
}

// RFC 9568 §6.4.2 Backup ----------------------------------------------------------------------------------------------

function stepBackup(state: Backup, event: Event, parameters: Parameters, now: Millis): Step {
  switch (event.kind) {
    case 'shutdown':
      // (345): (350) the timer is a field of the state and ends with the state, (355). A Backup sends nothing.
      return stop('Backup', 'shutdown')
    case 'deadlineReached':
      // (365): (370)–(410)
      return now < state.activeDownAt ? [state, []] : becomeActive(parameters, now, 'Backup', state.downReason)
    case 'advertisementReceived':
      // (420)
      return backupReceives(state, event, parameters, now)
    default:
      return [state, []]
  }
}

function backupReceives(state: Backup, event: Received, parameters: Parameters, now: Millis): Step {
  const { source, advertisement, receivedAt } = event
  if (source === parameters.primaryAddress) return [state, [selfOriginated(event)]]
  // (425)
  if (advertisement.priority === 0) {
    // (430) Active_Down_Timer := Skew_Time. Skew_Time is computed from the learned interval, not from the interval in
    // the packet with priority 0.
    const skew = skewTime(parameters.priority, state.activeAdverInterval, parameters.version)
    return [{ ...state, activeDownAt: plus(receivedAt, skew), downReason: 'activeReleased' }, []]
  }
  // (440), (445) An owner preempts, whatever Preempt_Mode is (§6.1).
  const preempts = parameters.preempt || isOwner(parameters)
  if (!preempts || advertisement.priority >= parameters.priority) return [follow(state, event, parameters, now), []]
  // (465): (470) The advertisement is discarded and Active_Down_Timer keeps running.
  return [noteLower(state, event), [{ kind: 'refused', reason: 'lower-priority', source }]]
}

/**
 * Accepts the advertisement, lines (450) to (460): learns the interval and restarts Active_Down_Timer at the time of
 * reception.
 */
function follow(state: Backup, event: Received, parameters: Parameters, now: Millis): Backup {
  const { priority, version } = parameters
  // (450) Version 2 has no Active_Adver_Interval to learn (RFC 3768).
  const activeAdverInterval = version === 3 ? event.advertisement.interval : state.activeAdverInterval
  const active = followed(state, event)
  const changed = state.active !== undefined && active.source !== state.active.source
  return plainBackup({
    enteredAt: state.enteredAt,
    activeAdverInterval,
    // (455), (460)
    activeDownAt: plus(event.receivedAt, activeDownInterval(priority, activeAdverInterval, version)),
    downReason: 'activeSilent',
    active,
    holderChangedAt: changed ? now : state.holderChangedAt,
  })
}

// RFC 9568 §6.4.3 Active ----------------------------------------------------------------------------------------------

function stepActive(state: Active, event: Event, parameters: Parameters, now: Millis): Step {
  switch (event.kind) {
    case 'shutdown':
      // (655): (660) the timer is a field of the state and ends with the state, (665), (670).
      return stop('Active', 'shutdown', [
        { kind: 'sendAdvertisement', priority: 0, reason: 'shutdown' },
        { kind: 'removeAddresses', addresses: parameters.addresses },
      ])
    case 'deadlineReached':
      // (680)
      if (now < state.adverAt) return [state, []]
      // (685), (690)
      return [
        withAdverAt(state, nextAdvertisementAt(state.adverAt, parameters.advertisementInterval, now)),
        [advertise(parameters, 'periodic')],
      ]
    case 'advertisementReceived':
      // (700)
      return activeReceives(state, event, parameters, now)
    default:
      return [state, []]
  }
}

function activeReceives(state: Active, event: Received, parameters: Parameters, now: Millis): Step {
  const { source, advertisement, receivedAt } = event
  const { priority, primaryAddress, version } = parameters
  if (source === primaryAddress) return [state, [selfOriginated(event)]]
  // (705)
  if (advertisement.priority === 0) {
    // (710), (715)
    const adverAt = plus(now, centisToMillis(parameters.advertisementInterval))
    return [withAdverAt(state, adverAt), [advertise(parameters, 'priorityZeroHeard')]]
  }
  // (720), (725)
  const isHigher = advertisement.priority > priority
  // (730), (735) Addresses are compared as unsigned integers in network byte order.
  const isEqual = advertisement.priority === priority
  if (isHigher || (isEqual && compareAddresses(source, primaryAddress) > 0)) {
    // (740) to (765): (740) the timer is a field of the state and ends with the state.
    const [next, entered] = enterBackup(parameters, now, {
      from: 'Active',
      reason: isHigher ? 'higherPriorityHeard' : 'higherAddressHeard',
      active: { source, priority: advertisement.priority, heardAt: receivedAt },
      // (745)
      activeAdverInterval: version === 3 ? advertisement.interval : parameters.advertisementInterval,
      holderChanged: true,
    })
    return [next, [{ kind: 'removeAddresses', addresses: parameters.addresses }, ...entered]]
  }
  // (770): (775) The advertisement is discarded.
  const refused: Effect = { kind: 'refused', reason: isEqual ? 'lower-address' : 'lower-priority', source }
  // New in RFC 9568 after (775), and not in version 2: advertise immediately to assert the Active state.
  return [state, version === 3 ? [refused, advertise(parameters, 'competingActiveHeard')] : [refused]]
}

// The transitions -----------------------------------------------------------------------------------------------------

/**
 * Returns the step to Active, lines (110) to (145) and (370) to (410). The effects have the order of the RFC, which is
 * a contract (effect.ts).
 */
export function becomeActive(
  parameters: Parameters,
  now: Millis,
  from: StateName,
  reason: TransitionReason,
  advertisement: AdvertisementReason = 'takeover',
): Step {
  // (140), (405) Adver_Timer := our own Advertisement_Interval, not the learned one.
  const next = plainActive(now, plus(now, centisToMillis(parameters.advertisementInterval)))
  const effects: Effect[] = [
    // (110), (370)
    advertise(parameters, advertisement),
    { kind: 'installAddresses' },
    // (115), (120), (125), (130), (135); (375), (380), (385), (390), (395), (400)
    { kind: 'announce', reason: 'takeover' },
    // (145), (410)
    { kind: 'transition', from, to: 'Active', reason },
  ]
  return [next, effects]
}

export type BackupEntry = {
  readonly from: StateName
  readonly reason: TransitionReason
  /** Active that this Backup follows; `undefined` at the start, while no Active is known. */
  readonly active: HeardActive | undefined
  readonly activeAdverInterval: Centis
  /** True if the holder of the addresses changed just now (minHold in extensions/preemption/fast-preempt.ts). */
  readonly holderChanged: boolean
}

/** Returns the step to Backup, lines (160) to (165) and (745) to (765). The caller removes the addresses first. */
export function enterBackup(parameters: Parameters, now: Millis, entry: BackupEntry): Step {
  const { active, activeAdverInterval, from, reason } = entry
  const wait = activeDownInterval(parameters.priority, activeAdverInterval, parameters.version)
  const next = plainBackup({
    enteredAt: now,
    activeAdverInterval,
    // (160); (750), (755), (760)
    activeDownAt: plus(active?.heardAt ?? now, wait),
    downReason: 'activeSilent',
    active,
    holderChangedAt: entry.holderChanged ? now : undefined,
  })
  // (165), (765)
  return [next, [{ kind: 'transition', from, to: 'Backup', reason, peer: active?.source }]]
}

/**
 * Returns the step to Initialize, lines (355) and (670). `effects` are the effects of a router that was Active; they
 * come first.
 */
export function stop(from: StateName, reason: TransitionReason, effects: readonly Effect[] = []): Step {
  const transition: Effect = { kind: 'transition', from, to: 'Initialize', reason }
  return [{ name: 'Initialize', faults: [], stopped: true }, [...effects, transition]]
}

/** Returns the order to send an advertisement with our own priority. */
export const advertise = ({ priority }: Parameters, reason: AdvertisementReason): Effect => ({
  kind: 'sendAdvertisement',
  priority,
  reason,
})

/** Refuses a packet from our own address (VR-RX-16). The RFC does not expect such a packet. */
const selfOriginated = ({ source }: Received): Effect => ({ kind: 'refused', reason: 'self-originated', source })
