/**
 * What all members of a sync group have to agree about (VR-SG-01): to start together, to be kept in Initialize by a member that
 * is missing, and not to be torn apart. Runs after every event; most of the time there is nothing to do. Refuses to know
 * what an event means for one member (index.ts), or for the others (sync-group.ts).
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

/** By list: every event of a group asks each of up to 255 members, and its list may name 254 others. */
const own = new WeakMap<readonly Fault[], readonly Fault[]>()

function ownFaults({ faults }: Initialize): readonly Fault[] {
  const known = own.get(faults)
  if (known !== undefined) return known
  const found = faults.filter((fault) => !fault.startsWith('syncGroup:'))
  own.set(faults, found)
  return found
}

/** Whether a member has a fault of its own, has not started, or is on its way to the end. */
function isMissing({ state }: Moving): boolean {
  if (state.name === 'Initialize') return state.stopped || ownFaults(state).length > 0
  return state.name === 'Leaving' && state.reason === 'shutdown'
}

/** Whether all members take part and are not torn apart, or all are on their way to the end: then there is nothing to do. */
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

/** VR-SG-01: a member that is missing keeps the others in Initialize, with a fault that names it. */
function blockAll(members: readonly Moving[], missing: readonly Moving[], now: Millis): readonly Moving[] {
  // A member that is not missing lacks all of these: one list for all such members, because there may be 254.
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

/** A missing member has reasons of its own, and lists the others after them. */
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
  // An owner is Active from its start (105), but only among owners: the others have to wait for silence.
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
 * A member has heard another router, so all give up returning. An Active among Backups, which only a reload makes, goes
 * without a gap and comes back when all of them want to.
 */
function stepAside(member: Moving, name: string, now: Millis): Moving {
  if (member.state.name === 'Returning') return enter(member, retreat(member.parameters, now, groupFault(name)))
  if (member.state.name !== 'Active') return member
  if (!isOwner(member.parameters)) return post(member, { kind: 'yield' }, now)
  const stepped = stepDown({ ...member, effects: [] }, name, now)
  const release: Effect = { kind: 'sendAdvertisement', priority: 0, reason: 'yield' }
  return { ...stepped, effects: [...member.effects, release, ...stepped.effects] }
}
