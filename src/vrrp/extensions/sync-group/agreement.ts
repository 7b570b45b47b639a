/**
 * Keeps the members of a sync group consistent (VR-SG-01). All members start together. A member that cannot take part
 * keeps the other members in Initialize. No member is Active while another member is Backup. The rules of this file run
 * after every event, and most of the time they change nothing. What an event means for one member is decided in
 * index.ts, and for the other members in sync-group.ts.
 */
import type { Millis } from '../../../wire/units.ts'
import type { Effect } from '../../effect.ts'
import type { Fault, GroupFault } from '../../event.ts'
import { isOwner } from '../../parameters.ts'
import type { Initialize } from '../../state.ts'
import { enterBackup, start } from '../enter.ts'
import { retreat } from '../returning.ts'
import { enter, groupFault, type Moving, post, stepDown } from './member.ts'

export type StartReason = 'startup' | 'faultCleared'

/**
 * A member's own faults, remembered for each list of faults. Every event of a sync group checks up to 255 members, and
 * each list may name 254 other members.
 */
const own = new WeakMap<readonly Fault[], readonly Fault[]>()

function ownFaults({ faults }: Initialize): readonly Fault[] {
  const known = own.get(faults)
  if (known !== undefined) return known
  const found = faults.filter((fault) => !fault.startsWith('syncGroup:'))
  own.set(faults, found)
  return found
}

/** Tells whether a member cannot take part: it has a fault of its own, has not started, or is shutting down. */
function isMissing({ state }: Moving): boolean {
  if (state.name === 'Initialize') return state.stopped || ownFaults(state).length > 0
  return state.name === 'Leaving' && state.reason === 'shutdown'
}

/** Tells whether the members are consistent: all take part and agree, or all are shutting down. */
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

export function settle(members: readonly Moving[], reason: StartReason, now: Millis): readonly Moving[] {
  if (isSettled(members)) return members
  const missing = members.filter(isMissing)
  const started = missing.length === 0 ? startTogether(members, reason, now) : blockAll(members, missing, now)
  if (started.every(({ state }) => state.name !== 'Active' && state.name !== 'Returning')) return started
  const torn = started.find(({ state }) => state.name === 'Backup')
  return torn === undefined ? started : started.map((member) => stepAside(member, torn.name, now))
}

/** Keeps the other members in Initialize, with a fault that names each missing member (VR-SG-01). */
function blockAll(members: readonly Moving[], missing: readonly Moving[], now: Millis): readonly Moving[] {
  // A member that can take part waits for all of these missing members. All waiting members share one list of faults,
  // because a group may have 254 of them.
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

/** Gives a missing member its own faults first, then a fault for each other missing member. */
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
  // An owner is Active from its start (105), but only in a group of owners. Other members have to wait for
  // Active_Down_Interval.
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
        holderChanged: false,
      }),
    )
  })
}

/**
 * Makes a member give up Returning or Active, because another member is Backup. An Active beside Backups exists only
 * after a reload. An Active beside Backups yields without a gap, and becomes Active again when all members are ready.
 */
function stepAside(member: Moving, name: string, now: Millis): Moving {
  if (member.state.name === 'Returning') return enter(member, retreat(member.parameters, now, groupFault(name)))
  if (member.state.name !== 'Active') return member
  if (!isOwner(member.parameters)) return post(member, { kind: 'yield' }, now)
  const stepped = stepDown({ ...member, effects: [] }, name, now)
  const release: Effect = { kind: 'sendAdvertisement', priority: 0, reason: 'yield' }
  return { ...stepped, effects: [...member.effects, release, ...stepped.effects] }
}
