/**
 * A sync group (VR-SG-01…06): several virtual routers that are Active together or not at all. Every member is stepped
 * by fsm.ts as if it were alone; this file decides what that means for the others and holds back who may not go alone.
 * Timers are fsm.ts's, ties of equal groups group-tie.ts's; which routers form a group, and on which interfaces they live, is not known here. The
 * caller runs the effects in rounds (first ones of all members, then second ones), so that every advertisement of
 * a takeover goes before the first address.
 */
import { type Millis, millis } from '../wire/units.ts'
import type { Effect } from './effect.ts'
import type { Event, Fault, GroupFault } from './event.ts'
import { step } from './fsm.ts'
import { rememberTie, tieOf } from './group-tie.ts'
import { giveWay } from './leaving.ts'
import { isOwner, type Parameters } from './parameters.ts'
import { enterReturning, retreat, standBy, takeBack } from './returning.ts'
import { announceOverRival } from './rival.ts'
import type { Initialize, State } from './state.ts'
import { becomeActive, enterBackup, hold, type Step, start } from './transition.ts'

export type Member = {
  readonly name: string
  readonly state: State
  readonly parameters: Parameters
  /** False: its own link is down, so that it cannot say priority 0 when another member fails. */
  readonly canSend?: boolean | undefined
}

export type GroupStep = { readonly state: State; readonly effects: readonly Effect[] }

/** A member in the middle of a step: its state so far, and what it owes for it. */
type Moving = Pick<Member, 'name' | 'state' | 'parameters'> & {
  readonly effects: readonly Effect[]
  /** Asked only when it matters: most events of a group of 255 end with the one that they are for. */
  readonly canSend: () => boolean
}
export type StartReason = 'startup' | 'faultCleared'

/** One entry a member, in their order; `index` says for whom the event is. With one member it is `step`. */
export function stepGroup(members: readonly Member[], index: number, event: Event, now: Millis): readonly GroupStep[] {
  const alone = members.length === 1 ? members[index] : undefined
  if (alone !== undefined) {
    const [state, effects] = step(alone.state, event, alone.parameters, now)
    return [{ state, effects }]
  }
  const moving = members.map(atRest)
  const subject = moving[index]
  if (subject === undefined) throw new RangeError(`Cannot step member ${index} of a group of ${members.length}`)
  const reason = event.kind === 'startup' ? 'startup' : 'faultCleared'
  return outcome(settle(advance(moving, subject, event, now), reason, now))
}

/**
 * After a reload has made other groups of running routers: brings the members of one to where a group can be. Faults
 * that came from a former group are dropped. Good for a group of one as well.
 */
export function settleGroup(
  members: readonly Member[],
  now: Millis,
  reason: StartReason = 'faultCleared',
): readonly GroupStep[] {
  const moving = members.map(atRest)
  return outcome(settle(moving, reason, now))
}

const NOTHING: readonly Effect[] = []

function atRest(member: Member): Moving {
  const { name, parameters, state } = member
  return { name, parameters, state, effects: NOTHING, canSend: () => member.canSend ?? true }
}

const outcome = (moved: readonly Moving[]): readonly GroupStep[] =>
  moved.map(({ state, effects }) => ({ state, effects }))

const enter = (member: Moving, [state, effects]: Step): Moving => ({
  ...member,
  state,
  effects: [...member.effects, ...effects],
})

const post = (member: Moving, event: Event, now: Millis): Moving =>
  enter(member, step(member.state, event, member.parameters, now))

// One event -----------------------------------------------------------------------------------------------------------

function advance(members: readonly Moving[], subject: Moving, event: Event, now: Millis): readonly Moving[] {
  const instead = (moved: Moving, others: (other: Moving) => Moving = (other) => other) =>
    members.map((member) => (member === subject ? moved : others(member)))
  if (event.kind === 'shutdown') return leaveTogether(members, event, now)
  if (event.kind === 'yield') {
    // Who owns his addresses cannot step aside (RFC 9568 §6.1), and nobody of a group goes alone.
    const bound = members.some(({ state, parameters }) => state.name === 'Active' && isOwner(parameters))
    return bound ? members : leaveTogether(members, event, now)
  }
  if (event.kind === 'absenceNoticed') return returnTogether(members, event, now)
  const { state } = subject
  // Whether it may start is not its own decision: settle() starts all or none (VR-SG-01).
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
  // VR-SG-02, rows A4 and A5: one has lost, all step down.
  if (moved.state.name === 'Backup' && state.name === 'Active') {
    return instead(moved, (other) => (other.state.name === 'Active' ? stepDown(other, subject.name, now) : other))
  }
  // VR-SG-06: who follows the rival on one member's network may do so on the others'.
  const rival = event.kind === 'advertisementReceived' && moved.effects.some(({ kind }) => kind === 'announce')
  return rival ? instead(moved, (other) => announceAsWell(other, now)) : instead(moved)
}

/** Yield and shutdown mean the whole group; all wait equally long, so that they give up together. */
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

/** Who was away was it with all its members (design.md ground rule 3); only owners alone need not listen first. */
function returnTogether(
  members: readonly Moving[],
  event: Extract<Event, { kind: 'absenceNoticed' }>,
  now: Millis,
): readonly Moving[] {
  const owners = members.every(({ parameters }) => isOwner(parameters))
  return members.map((member) => {
    const listens = member.state.name === 'Active' && !owners
    return listens ? enter(member, enterReturning(event, member.parameters, now)) : post(member, event, now)
  })
}

/** VR-SG-03: `moved` is Active as far as it alone is concerned. With all the others it is; otherwise it waits. */
function rise(members: readonly Moving[], subject: Moving, moved: Moving, now: Millis): readonly Moving[] {
  const others = members.filter((member) => member !== subject)
  if (others.every(wantsActive)) return members.map((member) => (member === subject ? moved : activate(member, now)))
  // Each has to have drained and asked for itself: its silence says nothing about the others' networks.
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
  // Another member's successor is there: to be Active again would tear the group apart.
  if (state.name === 'Leaving') return enter(member, giveWay(state, parameters, now))
  return member
}

/** Without priority 0 and without a last advertisement: the one that heard the winner speaks for all (VR-SG-02). */
function stepDown(member: Moving, name: string, now: Millis): Moving {
  const { parameters } = member
  const [next, entered] = enterBackup(parameters, now, {
    from: 'Active',
    reason: groupFault(name),
    active: undefined,
    activeAdverInterval: parameters.advertisementInterval,
    ownerChanged: true,
  })
  return enter(member, [next, [{ kind: 'removeAddresses', addresses: parameters.addresses }, ...entered]])
}

function refuseTie(member: Moving, event: Event): Moving {
  if (event.kind !== 'advertisementReceived') return member
  return enter(member, [member.state, [{ kind: 'refused', reason: 'tie-of-group', source: event.source }]])
}

/** At most once in four intervals, whatever is heard. */
function askAll(member: Moving, tied: boolean, now: Millis): Moving {
  const { state, parameters } = member
  if (state.name !== 'Active') return member
  const said: Effect = { kind: 'sendAdvertisement', priority: parameters.priority, reason: 'rivalHeard' }
  return enter(member, [tied ? rememberTie(state, now) : state, [said]])
}

function announceAsWell(member: Moving, now: Millis): Moving {
  const { state, parameters } = member
  if (state.name !== 'Active' || !parameters.knobs.announceOnRival) return member
  return enter(member, announceOverRival(state, now))
}

// What all members have to agree about --------------------------------------------------------------------------------

const groupFault = (name: string): GroupFault => `syncGroup:${name}`

/** By list: each of 255 members is asked at every event of any, and its list may name 254 others. */
const own = new WeakMap<readonly Fault[], readonly Fault[]>()

function ownFaults({ faults }: Initialize): readonly Fault[] {
  const known = own.get(faults)
  if (known !== undefined) return known
  const found = faults.filter((fault) => !fault.startsWith('syncGroup:'))
  own.set(faults, found)
  return found
}

/** Faulty for a reason of its own, not started, or on its way to the end. */
function isMissing({ state }: Moving): boolean {
  if (state.name === 'Initialize') return state.stopped || ownFaults(state).length > 0
  return state.name === 'Leaving' && state.reason === 'shutdown'
}

/** All take part, and are not torn apart; or all are on their way to the end. What is left is looked at closely. */
function isSettled(members: readonly Moving[]): boolean {
  let [active, backup, ending] = [0, 0, 0]
  for (const { state } of members) {
    if (state.name === 'Initialize') return false
    if (state.name === 'Active' || state.name === 'Returning') active++
    else if (state.name === 'Backup') backup++
    else if (state.reason === 'shutdown') ending++
  }
  return ending === members.length || (ending === 0 && (active === 0 || backup === 0))
}

function settle(members: readonly Moving[], reason: StartReason, now: Millis): readonly Moving[] {
  if (isSettled(members)) return members
  const missing = members.filter(isMissing)
  const started = missing.length === 0 ? startTogether(members, reason, now) : blockAll(members, missing, now)
  if (started.every(({ state }) => state.name !== 'Active' && state.name !== 'Returning')) return started
  const torn = started.find(({ state }) => state.name === 'Backup')
  return torn === undefined ? started : started.map((member) => stepAside(member, torn.name, now))
}

/** VR-SG-01: a member that is missing keeps the others in Initialize, with a fault that names it. */
function blockAll(members: readonly Moving[], missing: readonly Moving[], now: Millis): readonly Moving[] {
  // Who is not missing lacks all of them: one list for all of these, because there may be 254.
  const faults = missing.map(({ name }) => groupFault(name))
  return members.map((member) => {
    if (isMissing(member)) return blockMissing(member, faults)
    const [fault] = faults
    if (fault === undefined) return member
    const { state } = member
    if (state.name === 'Initialize') return { ...member, state: { ...state, faults } }
    const failed = post(member, { kind: 'faultRaised', fault, canSend: member.canSend() }, now)
    return failed.state.name === 'Initialize' ? { ...failed, state: { ...failed.state, faults } } : failed
  })
}

/** It has reasons of its own, and lists the others' after them. */
function blockMissing(member: Moving, missing: readonly GroupFault[]): Moving {
  const { name, state } = member
  if (state.name !== 'Initialize') return member
  const reasons = ownFaults(state)
  const itself = groupFault(name)
  const faults = [...reasons, ...(state.stopped ? [] : missing.filter((fault) => fault !== itself))]
  own.set(faults, reasons)
  return { ...member, state: { ...state, faults } }
}

function startTogether(members: readonly Moving[], reason: StartReason, now: Millis): readonly Moving[] {
  // An owner is Active from its start (row I1), but only among owners: the others have to wait for silence.
  const owners = members.every(
    ({ state, parameters }) => isOwner(parameters) && (state.name === 'Initialize' || state.name === 'Active'),
  )
  return members.map((member) => {
    const { state, parameters } = member
    if (state.name !== 'Initialize') return member
    if (owners) return enter(member, start(parameters, now, reason))
    return enter(
      member,
      enterBackup(parameters, now, {
        from: 'Initialize',
        reason,
        active: undefined,
        activeAdverInterval: parameters.advertisementInterval,
        ownerChanged: false,
      }),
    )
  })
}

/** One has heard that somebody is there, so all give up returning. Only after a reload: an Active among Backups goes without a gap, and comes back when all of them want to. */
function stepAside(member: Moving, name: string, now: Millis): Moving {
  if (member.state.name === 'Returning') return enter(member, retreat(member.parameters, now, groupFault(name)))
  if (member.state.name !== 'Active') return member
  if (!isOwner(member.parameters)) return post(member, { kind: 'yield' }, now)
  const stepped = stepDown({ ...member, effects: [] }, name, now)
  const release: Effect = { kind: 'sendAdvertisement', priority: 0, reason: 'yield' }
  return { ...stepped, effects: [...member.effects, release, ...stepped.effects] }
}
