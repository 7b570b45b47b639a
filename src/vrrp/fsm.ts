/**
 * The state machine of RFC 9568 §6.4: (state, event, parameters, now) → [state, effects]. Everything that decides a
 * transition is here, in active.ts, leaving.ts, lingering.ts and returning.ts (what new parameters mean: reconfigure.ts); rows are named
 * as in docs/rfc9568.md (I1…, B1…, A1…). This file does not know what an interface, a socket or a clock is. It is told the time
 * and asks for nothing; an early or repeated `deadlineReached` does nothing.
 */
import { compareAddresses } from '../wire/address.ts'
import { centisToMillis, type Millis, millis, plus } from '../wire/units.ts'
import { stepActive } from './active.ts'
import type { Event, StateEvent } from './event.ts'
import { checksAnswered, fastPreempt, priorityChangedInBackup, takeBack } from './extensions/fast-preempt.ts'
import { isLingering, stepLingering } from './extensions/grace-period.ts'
import { stepLeaving } from './extensions/leaving.ts'
import { reconfigure } from './extensions/reload.ts'
import { stepReturning } from './extensions/returning.ts'
import { isOwner, outranks, type Parameters } from './parameters.ts'
import type { Backup, Initialize, State } from './state.ts'
import { skewTime, staggerDelay } from './timers.ts'
import { activeDownDelay, becomeActive, fail, type Step, start, stop } from './transition.ts'

type Received = Extract<Event, { kind: 'advertisementReceived' }>

export function step(state: State, event: Event, parameters: Parameters, now: Millis): Step {
  if (event.kind === 'parametersChanged') return reconfigure(state, event.previous, parameters, now)
  switch (state.name) {
    case 'Initialize':
      return stepInitialize(state, event, parameters, now)
    case 'Backup':
      if (isLingering(state)) {
        return stepLingering(state, event, now, (backup) => stepBackup(backup, event, parameters, now))
      }
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
    case 'checksAnswered':
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
      if (state.asksChecks === true) return takeBack(state, parameters, now)
      // B2
      return becomeActive(parameters, now, 'Backup', state.downReason)
    case 'advertisementReceived':
      return backupReceives(state, event, parameters, now)
    case 'priorityChanged':
      return [priorityChangedInBackup(state, event.previous, parameters), []]
    case 'checksAnswered':
      return checksAnswered(state, event.assured, parameters, now)
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
  return { ...state, activeDownAt: plus(now, delay), regularDownAt: undefined, extended: true, asksChecks: undefined }
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
  if (!outranks(parameters.priority, advertisement.priority, parameters)) {
    // An advantage within the margin is none; said once for as long as it lasts.
    const spared = { ...follow({ ...state, preemptAt: undefined }, event, parameters, now), spared: true }
    return [spared, state.spared === true ? [] : [{ kind: 'moveSuppressed', reason: 'margin', source, at: now }]]
  }
  if (parameters.preemptDelay > 0 && !isOwner(parameters)) {
    // VR-PRE-02: while the delay runs, a lower Active is followed like any other.
    const preemptAt = state.preemptAt ?? plus(receivedAt, parameters.preemptDelay)
    if (receivedAt <= preemptAt) return [follow({ ...state, preemptAt }, event, parameters, now), []]
  }
  // B5: discarded, the timer keeps running; or the demotion of the router that we followed.
  const [next, effects] = fastPreempt(state, event, parameters, now)
  return [next, [{ kind: 'refused', reason: 'lower-priority', source }, ...effects]]
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
  const next: Backup = { ...state, activeDownAt, regularDownAt: undefined, downReason: 'activeReleased' }
  return [{ ...next, asksChecks: undefined }, []]
}

/** B4: learn the interval, restart Active_Down_Timer from when the packet arrived. */
function follow(state: Backup, event: Received, parameters: Parameters, now: Millis): Backup {
  const { source, advertisement, receivedAt } = event
  const activeAdverInterval = parameters.version === 3 ? advertisement.interval : state.activeAdverInterval
  const heard = { source, priority: advertisement.priority, heardAt: receivedAt }
  // A loser's last advertisement must not become "the Active" whose priority 0 and demotion we listen to (docs/architecture.md, Protocol decisions).
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
    asksChecks: undefined,
    spared: undefined,
  }
}
