/**
 * The state machine of RFC 9568 §6.4: (state, event, parameters, now) → [state, effects]. Everything that decides a
 * transition is here, in leaving.ts and in returning.ts (what new parameters mean: reconfigure.ts); rows are named as in
 * docs/rfc9568.md (I1…, B1…, A1…). This file does not know what an interface, a socket or a clock is. It is told the time
 * and asks for nothing; an early or repeated `deadlineReached` does nothing.
 */
import { compareAddresses } from '../wire/address.ts'
import { centisToMillis, type Millis, millis, plus } from '../wire/units.ts'
import type { Effect } from './effect.ts'
import type { Event, StateEvent } from './event.ts'
import { fastPreempt, priorityChangedInBackup } from './fast-preempt.ts'
import { leave, leavesAtOnce, stepLeaving } from './leaving.ts'
import { isOwner, type Parameters } from './parameters.ts'
import { advertiseChange, reconfigure } from './reconfigure.ts'
import { comeBack, stepReturning } from './returning.ts'
import { announceOverRival, answerableAt, answerLate, rememberAnswer } from './rival.ts'
import type { Active, Backup, Initialize, State } from './state.ts'
import { skewTime, staggerDelay } from './timers.ts'
import { activeDownDelay, becomeActive, enterBackup, fail, type Step, start, stop } from './transition.ts'

type Received = Extract<Event, { kind: 'advertisementReceived' }>

export function step(state: State, event: Event, parameters: Parameters, now: Millis): Step {
  if (event.kind === 'parametersChanged') return reconfigure(state, event.previous, parameters, now)
  switch (state.name) {
    case 'Initialize':
      return stepInitialize(state, event, parameters, now)
    case 'Backup':
      return stepBackup(state, event, parameters, now)
    case 'Active':
      return stepActive(state, event, parameters, now)
    case 'Leaving':
      return stepLeaving(state, event, parameters, now)
    case 'Returning':
      return stepReturning(state, event, parameters, now)
  }
}

// RFC 9568 §6.4.1 Initialize ------------------------------------------------------------------------------------------

function stepInitialize(state: Initialize, event: StateEvent, parameters: Parameters, now: Millis): Step {
  switch (event.kind) {
    case 'startup':
      // I1, I2
      return state.faults.length === 0 ? start(parameters, now, 'startup') : [{ ...state, stopped: false }, []]
    case 'faultRaised':
      return state.faults.includes(event.fault)
        ? [state, []]
        : [{ ...state, faults: [...state.faults, event.fault] }, []]
    case 'faultCleared': {
      const faults = state.faults.filter((fault) => fault !== event.fault)
      // VR-TRK-06: when the last reason goes, as at start: own interval, full Active_Down_Interval.
      if (faults.length === 0 && !state.stopped) return start(parameters, now, 'faultCleared')
      return [{ ...state, faults }, []]
    }
    case 'advertisementReceived':
      // I3
      return [state, [{ kind: 'refused', reason: 'initialize', source: event.source }]]
    case 'shutdown':
      // I4
      return [{ ...state, stopped: true }, []]
    case 'yield':
    case 'claimHeard':
    case 'rivalAnswered':
    case 'peerReached':
    case 'deadlineReached':
    case 'absenceNoticed':
    case 'priorityChanged':
      return [state, []]
  }
}

// RFC 9568 §6.4.2 Backup ----------------------------------------------------------------------------------------------

function stepBackup(state: Backup, event: StateEvent, parameters: Parameters, now: Millis): Step {
  switch (event.kind) {
    case 'shutdown':
      // B1: nothing is sent.
      return stop('Backup', 'shutdown')
    case 'deadlineReached':
      if (now < state.activeDownAt) return [state, []]
      // Ground rule 2: what would have kept us in Backup may be among the lost packets. Once, then we decide.
      if (event.receptionLost && !state.extended) return [extend(state, parameters, now), []]
      // B2
      return becomeActive(parameters, now, 'Backup', state.downReason)
    case 'advertisementReceived':
      return backupReceives(state, event, parameters, now)
    case 'priorityChanged':
      return [priorityChangedInBackup(state, event.previous, parameters), []]
    case 'faultRaised':
      return fail('Backup', event.fault, false)
    case 'startup':
    case 'yield':
    case 'claimHeard':
    case 'rivalAnswered':
    case 'peerReached':
    case 'absenceNoticed':
    case 'faultCleared':
      return [state, []]
  }
}

function extend(state: Backup, parameters: Parameters, now: Millis): Backup {
  const delay = activeDownDelay(parameters, state.activeAdverInterval, state.active?.source)
  return { ...state, activeDownAt: plus(now, delay), regularDownAt: undefined, extended: true }
}

function backupReceives(state: Backup, event: Received, parameters: Parameters, now: Millis): Step {
  const { source, advertisement, receivedAt } = event
  // B6, VR-RX-16: what comes from our own address is not ours to process.
  if (source === parameters.primaryAddress) return [state, [{ kind: 'refused', reason: 'self-originated', source }]]
  if (advertisement.priority === 0) return backupHearsRelease(state, event, parameters)

  if (advertisement.priority >= parameters.priority)
    return [follow({ ...state, preemptAt: undefined }, event, parameters, now), []]
  // B4 also covers Preempt_Mode False; an owner preempts regardless of it (RFC 9568 §6.1).
  if (!parameters.preempt && !isOwner(parameters)) return [follow(state, event, parameters, now), []]
  if (parameters.preemptDelay > 0 && !isOwner(parameters)) {
    // VR-PRE-02: while the delay runs, a lower Active is followed like any other.
    const preemptAt = state.preemptAt ?? plus(receivedAt, parameters.preemptDelay)
    if (receivedAt <= preemptAt) return [follow({ ...state, preemptAt }, event, parameters, now), []]
  }
  // B5: discarded, the timer keeps running; or the demotion of the router that we followed.
  return [fastPreempt(state, event, parameters, now), [{ kind: 'refused', reason: 'lower-priority', source }]]
}

/** B3: Active_Down_Timer := Skew_Time as last computed, so with the learned interval, not the packet's. */
function backupHearsRelease(state: Backup, event: Received, parameters: Parameters): Step {
  const { source, receivedAt } = event
  const fromActiveOnly = parameters.knobs.priorityZeroFromActiveOnly
  if (fromActiveOnly && state.active !== undefined && state.active.source !== source) {
    return [state, [{ kind: 'refused', reason: 'priority-zero-not-from-active', source }]]
  }
  const { activeAdverInterval: interval } = state
  const delay = skewTime(parameters.priority, interval, parameters.version) + staggerDelay(parameters, interval, source)
  const skewedAt = plus(receivedAt, delay)
  // The second copy, and a release while fastPreempt is pending, must not lengthen the wait.
  const shortened = fromActiveOnly && (state.downReason === 'activeReleased' || state.regularDownAt !== undefined)
  const activeDownAt = shortened ? millis(Math.min(state.activeDownAt, skewedAt)) : skewedAt
  return [{ ...state, activeDownAt, regularDownAt: undefined, downReason: 'activeReleased' }, []]
}

/** B4: learn the interval, restart Active_Down_Timer from when the packet arrived. */
function follow(state: Backup, event: Received, parameters: Parameters, now: Millis): Backup {
  const { source, advertisement, receivedAt } = event
  const activeAdverInterval = parameters.version === 3 ? advertisement.interval : state.activeAdverInterval
  const heard = { source, priority: advertisement.priority, heardAt: receivedAt }
  // A loser's last advertisement must not become "the Active" whose priority 0 and demotion we listen to (design.md §3).
  // Not after a release: then whoever speaks next is the successor, however low.
  const stray =
    state.active !== undefined &&
    state.downReason !== 'activeReleased' &&
    state.active.source !== source &&
    receivedAt - state.active.heardAt < centisToMillis(state.activeAdverInterval) &&
    (advertisement.priority < state.active.priority ||
      (advertisement.priority === state.active.priority && compareAddresses(source, state.active.source) < 0))
  const active = stray ? state.active : heard
  const changed = state.active !== undefined && active?.source !== state.active.source
  return {
    ...state,
    activeAdverInterval,
    activeDownAt: plus(receivedAt, activeDownDelay(parameters, activeAdverInterval, active?.source)),
    downReason: 'activeSilent',
    regularDownAt: undefined,
    active,
    ownerChangedAt: changed ? now : state.ownerChangedAt,
    extended: false,
    // VR-SG-03: an accepted advertisement withdraws the wish to be Active.
    heldSince: undefined,
  }
}

// RFC 9568 §6.4.3 Active ----------------------------------------------------------------------------------------------

function stepActive(state: Active, event: StateEvent, parameters: Parameters, now: Millis): Step {
  const removeAll: Effect = { kind: 'removeAddresses', addresses: parameters.addresses }
  switch (event.kind) {
    case 'shutdown':
      // A1
      if (!leavesAtOnce(parameters)) return leave(parameters, now, 'shutdown')
      return stop('Active', 'shutdown', [{ kind: 'sendAdvertisement', priority: 0, reason: 'shutdown' }, removeAll])
    case 'yield':
      if (isOwner(parameters)) return [state, []]
      return parameters.knobs.leaving ? leave(parameters, now, 'yield') : yieldAtOnce(parameters, now, removeAll)
    case 'deadlineReached':
      // A2
      if (now < state.adverAt) return [state, []]
      return [
        { ...state, adverAt: nextAdvertisementAt(state.adverAt, parameters, now) },
        [{ kind: 'sendAdvertisement', priority: parameters.priority, reason: 'periodic' }],
      ]
    case 'advertisementReceived':
      return activeReceives(state, event, parameters, now)
    case 'rivalAnswered':
      return rivalAnswered(state, event, parameters, now)
    case 'peerReached':
      return peerReached(state, parameters, now)
    case 'absenceNoticed':
      return comeBack(state, event, parameters, now)
    case 'priorityChanged':
      return advertiseChange(state, parameters, now, 'priorityChanged')
    case 'faultRaised': {
      // Addresses first (design.md §3): whatever is wrong here, two hosts must not answer.
      const release: Effect[] = event.canSend ? [{ kind: 'sendAdvertisement', priority: 0, reason: 'fault' }] : []
      return fail('Active', event.fault, false, [removeAll, ...release])
    }
    case 'startup':
    case 'claimHeard':
    case 'faultCleared':
      return [state, []]
  }
}

/** Without Leaving a yield is the release of row A1 with another future: Backup, with the priority that was lowered. */
function yieldAtOnce(parameters: Parameters, now: Millis, removeAll: Effect): Step {
  const [next, entered] = enterBackup(parameters, now, {
    from: 'Active',
    reason: 'yield',
    active: undefined,
    activeAdverInterval: parameters.advertisementInterval,
    ownerChanged: true,
  })
  return [next, [{ kind: 'sendAdvertisement', priority: 0, reason: 'yield' }, removeAll, ...entered]]
}

/** On the grid of the previous deadline (VR-TM-09: no drift); ticks that were slept through are not made up for. */
function nextAdvertisementAt(previous: Millis, parameters: Parameters, now: Millis): Millis {
  const interval = centisToMillis(parameters.advertisementInterval)
  const next = plus(previous, (Math.floor((now - previous) / interval) + 1) * interval)
  // A clock's moments are no dyadic fractions: rounding must not make one tick two.
  return next > now ? next : plus(next, interval)
}

function activeReceives(state: Active, event: Received, parameters: Parameters, now: Millis): Step {
  const { source, advertisement, receivedAt } = event
  const send = (reason: 'priorityZeroHeard' | 'rivalHeard' | 'lost'): Effect => ({
    kind: 'sendAdvertisement',
    priority: parameters.priority,
    reason,
  })
  // A8, VR-RX-16
  if (source === parameters.primaryAddress) return [state, [{ kind: 'refused', reason: 'self-originated', source }]]
  if (advertisement.priority === 0) {
    const release = { to: 'release', source } as const
    const again = answerableAt(state, release, parameters)
    // A3. Too soon for another answer: then it is late, not lost, because a Backup may have cut its timer to Skew_Time.
    if (again > now) return [{ ...state, adverAt: millis(Math.min(state.adverAt, again)) }, []]
    const adverAt = plus(now, centisToMillis(parameters.advertisementInterval))
    return [{ ...rememberAnswer(state, release, parameters, now), adverAt }, [send('priorityZeroHeard')]]
  }
  const above = advertisement.priority > parameters.priority
  const equal = advertisement.priority === parameters.priority
  if (above || (equal && compareAddresses(source, parameters.primaryAddress) > 0)) {
    // A4, A5: step down. The last advertisement tells the winner that clients may have been misled; it comes after
    // the addresses are off, so that the winner's answer to it cannot be undone by us (design.md §3, Rivals).
    const [next, entered] = enterBackup(parameters, now, {
      from: 'Active',
      reason: above ? 'higherPriorityHeard' : 'higherAddressHeard',
      active: { source, priority: advertisement.priority, heardAt: receivedAt },
      activeAdverInterval: parameters.version === 3 ? advertisement.interval : parameters.advertisementInterval,
      ownerChanged: true,
    })
    const last: Effect[] = parameters.knobs.lastAdvertisement ? [send('lost')] : []
    return [next, [{ kind: 'removeAddresses', addresses: parameters.addresses }, ...last, ...entered]]
  }
  // A6, A7: a rival.
  const effects: Effect[] = [{ kind: 'refused', reason: equal ? 'lower-address' : 'lower-priority', source }]
  const rival = { to: 'rival', source } as const
  let next = state
  if (parameters.knobs.assertOnLower) {
    if (answerableAt(state, rival, parameters) <= now) {
      effects.push(send('rivalHeard'))
      next = rememberAnswer(next, rival, parameters, now)
    } else next = answerLate(next, rival, parameters)
  }
  if (!parameters.knobs.announceOnRival) return [next, effects]
  const [announced, announcement] = announceOverRival(next, now)
  return [announced, [...effects, ...announcement]]
}

/** As long as it answers we ask again and again; the announcements of one batch last a while. */
const ANSWER_SPACING = 1_000
/** The last repeat of a batch (arp/announcement.ts). */
const REPEATS_TAKE = 200
/** Intervals until an Active has advertised for certain although its first advertisement was lost. */
const MUTE_START = 1.2
type RivalAnswered = Extract<Event, { readonly kind: 'rivalAnswered' }>

/**
 * Our question has found another host that has our address. Whether it yields is told by its advertisement, if ever.
 * FRR's first IPv6 advertisement never gets out: for an interval it has the address and only its Neighbor Advertisement
 * has said so. Who answers like FRR is given that interval, or our announcement would be the last word of a loser.
 */
function rivalAnswered(state: Active, event: RivalAnswered, parameters: Parameters, now: Millis): Step {
  if (!parameters.knobs.probeRivals) return [state, []]
  const { rivalAnsweredAt, ...before } = state
  const { rivalAnnouncedAt } = before
  if (rivalAnnouncedAt !== undefined && now - rivalAnnouncedAt < ANSWER_SPACING) {
    // A question without an answer in between: that one has gone, and this is another cut that was healed.
    const silence = now - Math.max(rivalAnnouncedAt, rivalAnsweredAt ?? rivalAnnouncedAt)
    const unasked = Math.max(1.5 * centisToMillis(parameters.advertisementInterval), REPEATS_TAKE)
    if (silence < unasked) return [{ ...state, rivalAnsweredAt: now }, []]
  }
  const [next, effects] = announceOverRival(before, now)
  if (event.virtualMac !== true || parameters.family !== 'ipv6') return [next, effects]
  const after = millis(centisToMillis(parameters.advertisementInterval) * MUTE_START)
  return [next, effects.map((effect) => (effect.kind === 'announce' ? { ...effect, after } : effect))]
}

/** The takeover's own announcements are not over: who is first spoken to now has heard, or will hear them. */
const TAKEOVER_TAKES = 50

/**
 * A unicast peer that could not be reached may have been Active beside us, and has our advertisement now: one that had
 * waited, before which nobody was asked. If it yields to it in silence no question will find it any more.
 */
function peerReached(state: Active, parameters: Parameters, now: Millis): Step {
  if (!parameters.knobs.probeRivals || now - state.since < TAKEOVER_TAKES) return [state, []]
  return announceOverRival(state, now)
}
