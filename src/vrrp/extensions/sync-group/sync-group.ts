/**
 * A sync group (VR-SG-01 to VR-SG-06): several virtual routers that are Active together or not at all. Each member
 * steps as if it were alone (index.ts). `sync-group.ts` decides what a step of one member means for the other members,
 * and ensures that no member acts alone. `tie.ts` decides ties between groups of equal priority. `agreement.ts` keeps
 * the members consistent. The daemon decides which routers form a group. The caller runs the first effect of each
 * member, then the second effect of each member. In this order every advertisement of a takeover is sent before the
 * first address is installed.
 */
import { type Millis, millis, plus } from '../../../wire/units.ts'
import type { Effect } from '../../effect.ts'
import type { Event } from '../../event.ts'
import { advertise } from '../../fsm.ts'
import { isOwner, ownsAddresses, type Parameters } from '../../parameters.ts'
import type { Backup, State } from '../../state.ts'
import { announceOverCompetitor } from '../competing-active.ts'
import { becomeActive } from '../enter.ts'
import { extendedStep } from '../index.ts'
import { giveWay } from '../leaving.ts'
import { enterReturning, retreat, standBy, takeBack } from '../returning.ts'
import { activeDownDelay } from '../stagger.ts'
import { type StartReason, settle } from './agreement.ts'
import { atRest, enter, type Member, type Moving, post, stepDown } from './member.ts'
import { rememberTie, tieOf } from './tie.ts'

export type GroupStep = { readonly state: State; readonly effects: readonly Effect[] }

/**
 * Returns one step (state and effects) for each member of a sync group, in the order of the members. `index` is the
 * member that received the event. A group with one member gets the same step as from `extendedStep`.
 */
export function stepGroup(members: readonly Member[], index: number, event: Event, now: Millis): readonly GroupStep[] {
  const alone = members.length === 1 ? members[index] : undefined
  if (alone !== undefined) {
    const [state, effects] = extendedStep(alone.state, event, alone.parameters, now)
    return [{ state, effects }]
  }
  const moving = members.map(atRest)
  const subject = moving[index]
  if (subject === undefined) throw new RangeError(`Cannot step member ${index} of a group of ${members.length}`)
  const reason = event.kind === 'startup' ? 'startup' : 'faultCleared'
  return outcome(settle(advance(moving, subject, event, now), reason, now))
}

/**
 * Returns the steps that make the members consistent after a reload has formed a group of running routers. Faults of a
 * former group are dropped. A group may have one member.
 */
export function settleGroup(
  members: readonly Member[],
  now: Millis,
  reason: StartReason = 'faultCleared',
): readonly GroupStep[] {
  const moving = members.map(atRest)
  return outcome(settle(moving, reason, now))
}

const outcome = (moved: readonly Moving[]): readonly GroupStep[] =>
  moved.map(({ state, effects }) => ({ state, effects }))

// One event -----------------------------------------------------------------------------------------------------------

function advance(members: readonly Moving[], subject: Moving, event: Event, now: Millis): readonly Moving[] {
  const instead = (moved: Moving, others: (other: Moving) => Moving = (other) => other) =>
    members.map((member) => (member === subject ? moved : others(member)))
  if (event.kind === 'shutdown') return leaveTogether(members, event, now)
  if (event.kind === 'yield') {
    // An owner cannot yield (RFC 9568 §6.1). All members of a group yield together, so a group with an owner cannot
    // yield either.
    const bound = members.some(({ state, parameters }) => state.name === 'Active' && isOwner(parameters))
    return bound ? members : leaveTogether(members, event, now)
  }
  if (event.kind === 'absenceNoticed') return returnTogether(members, event, now)
  const { state } = subject
  // A member does not start alone: settle() starts all members of the group or none (VR-SG-01).
  if (state.name === 'Initialize' && event.kind === 'startup') {
    return instead({ ...subject, state: { ...state, stopped: false } })
  }
  if (state.name === 'Initialize' && event.kind === 'faultCleared') {
    return instead({ ...subject, state: { ...state, faults: state.faults.filter((fault) => fault !== event.fault) } })
  }
  const tie = tieOf(members, subject, event, now)
  if (tie === 'wait') return instead(refuseTie(subject, event))
  if (tie === 'ask')
    return members.map((member) =>
      askAll(member === subject ? refuseTie(member, event) : member, member === subject, now),
    )
  const moved = post(subject, event, now)
  if (moved.state.name === 'Active' && state.name !== 'Active') return rise(members, subject, moved, now)
  // VR-SG-02: one member has lost, lines (725) and (735), so all members become Backup.
  if (moved.state.name === 'Backup' && state.name === 'Active') {
    const heardAt = event.kind === 'advertisementReceived' ? event.receivedAt : undefined
    const goes = (other: Moving) => stepDown(other, subject.name, now, heardAt)
    return instead(moved, (other) => (other.state.name === 'Active' ? goes(other) : other))
  }
  // VR-SG-06: a client that uses the competing Active on the network of one member may use it on the other networks,
  // too.
  const announces = event.kind === 'advertisementReceived' && moved.effects.some(({ kind }) => kind === 'announce')
  return announces ? instead(moved, (other) => announceAsWell(other, now)) : instead(moved)
}

/**
 * Handles yield and shutdown, which apply to the whole sync group. All members wait equally long, so that they stop
 * waiting for a successor together.
 */
function leaveTogether(members: readonly Moving[], event: Event, now: Millis): readonly Moving[] {
  const moved = members.map((member) => post(member, event, now))
  const until = moved.reduce(
    (latest, { state }) => (state.name === 'Leaving' ? Math.max(latest, state.until) : latest),
    Number.NEGATIVE_INFINITY,
  )
  return moved.map((member) =>
    member.state.name === 'Leaving' ? { ...member, state: { ...member.state, until: millis(until) } } : member,
  )
}

/**
 * Handles an absence, which concerns all members of a sync group (ground rule 3: a node that was away listens first).
 * The members listen before they send, unless all addresses are the node's own.
 */
function returnTogether(
  members: readonly Moving[],
  event: Extract<Event, { kind: 'absenceNoticed' }>,
  now: Millis,
): readonly Moving[] {
  const owners = members.every(({ parameters }) => ownsAddresses(parameters))
  const listens = ({ state }: Moving) => state.name === 'Active' && !owners
  const moved = members.map((member) => (listens(member) ? member : post(member, event, now)))
  // The successor of this member is known already, so the member need not listen first. Only a reload creates such a
  // group.
  const followed = moved.find(({ state }) => state.name === 'Backup')
  return moved.map((member) => {
    if (!listens(member)) return member
    if (followed !== undefined) return stepDown(member, followed.name, now)
    return enter(member, enterReturning(event, member.parameters, now))
  })
}

/**
 * Decides whether a member becomes Active (VR-SG-03). `moved` is this member after its transition to Active. If all
 * other members are ready, the whole group becomes Active. If another member is not ready, this member waits.
 */
function rise(members: readonly Moving[], subject: Moving, moved: Moving, now: Millis): readonly Moving[] {
  const others = members.filter((member) => member !== subject)
  if (others.every(wantsActive)) return members.map((member) => (member === subject ? moved : activate(member, now)))
  // Each member must have drained its sockets and asked its own network. A network without an advertisement proves
  // nothing about the other networks.
  const listening = others.every((other) => other.state.name === 'Returning' || wantsActive(other))
  return members.map((member) => (member === subject ? wait(member, listening, now) : member))
}

function wantsActive({ state }: Moving): boolean {
  switch (state.name) {
    case 'Active':
      return true
    case 'Backup':
      return state.heldSince !== undefined
    case 'Leaving':
      return state.reason === 'yield' && state.successor === undefined
    case 'Returning':
      return state.phase === 'ready'
    case 'Initialize':
      return false
  }
}

function activate(member: Moving, now: Millis): Moving {
  const { state, parameters } = member
  switch (state.name) {
    case 'Backup':
      return enter(member, becomeActive(parameters, now, 'Backup', state.downReason))
    case 'Leaving':
      return enter(member, becomeActive(parameters, now, 'Leaving', 'noSuccessor', 'noSuccessor'))
    case 'Returning':
      return enter(member, takeBack(parameters, now))
    case 'Active':
    case 'Initialize':
      return member
  }
}

function wait(member: Moving, listening: boolean, now: Millis): Moving {
  const { state, parameters } = member
  if (state.name === 'Returning') {
    return listening
      ? { ...member, state: standBy(state, now) }
      : enter(member, retreat(parameters, now, 'activeHeard'))
  }
  if (state.name === 'Backup') return { ...member, state: hold(state, parameters, now) }
  // Another router took over from another member of the group. If this member became Active again, it would split the
  // group.
  if (state.name === 'Leaving') return enter(member, giveWay(state, parameters, now))
  return member
}

/**
 * Restarts Active_Down_Timer of a member that waits for its group, and sends nothing (VR-SG-03). The member stays ready
 * until it accepts an advertisement.
 */
function hold(state: Backup, parameters: Parameters, now: Millis): Backup {
  const delay = activeDownDelay(parameters, state.activeAdverInterval, state.active?.source)
  return { ...state, activeDownAt: plus(now, delay), heldSince: state.heldSince ?? now }
}

function refuseTie(member: Moving, event: Event): Moving {
  if (event.kind !== 'advertisementReceived') return member
  return enter(member, [member.state, [{ kind: 'refused', reason: 'tie-of-group', source: event.source }]])
}

/** Advertises on the network of each member after a new tie with another group, at most once in four intervals. */
function askAll(member: Moving, tied: boolean, now: Millis): Moving {
  const { state, parameters } = member
  if (state.name !== 'Active') return member
  return enter(member, [tied ? rememberTie(state, now) : state, [advertise(parameters, 'competingActiveHeard')]])
}

function announceAsWell(member: Moving, now: Millis): Moving {
  const { state, parameters } = member
  if (state.name !== 'Active' || parameters.extensions.competingActive?.announces !== true) return member
  return enter(member, announceOverCompetitor(state, parameters.family, now))
}
