/**
 * The operator's `yield`: a sync group, or a router without one, hands its addresses to another node and does not take
 * them back for a time. This file decides when a yield is refused, and why. The behaviour of the router is decided in
 * vrrp/extensions/leaving.ts.
 */
import { isOwner } from '../../vrrp/parameters.ts'
import type { Millis } from '../../wire/units.ts'
import type { Chronicle } from '../telemetry/chronicle.ts'
import { postEvent } from './post-event.ts'
import type { Router } from './router.ts'

type Members = readonly Router[]

/**
 * Gives all members priority 1 until `until`, and posts the yield. If all are Backups that yield already, only the end
 * changes. Returns the reason of a refusal, otherwise `undefined`.
 */
export function yieldAddresses(
  members: Members,
  until: Millis,
  now: Millis,
  chronicle: Pick<Chronicle, 'record'>,
): string | undefined {
  if (members.every(isAside)) {
    for (const { priority } of members) priority.yieldUntil(until)
    return undefined
  }
  for (const member of members) {
    const reason = reasonToStay(member)
    if (reason !== undefined) return `${member.name} ${reason}`
  }
  const [first] = members
  if (first !== undefined)
    chronicle.record({ kind: 'yieldOrdered', router: first.name, forMs: Math.round(until - now) })
  for (const member of members) member.lowerPriority(until)
  if (first !== undefined) postEvent(first, { kind: 'yield' }, now)
  return undefined
}

/** Gives all members their own priority again. Returns the reason of a refusal, otherwise `undefined`. */
export function endYield(members: Members, name: string | undefined, now: Millis): string | undefined {
  const yielding = members.filter(({ priority }) => priority.yieldingUntil !== undefined)
  if (yielding.length === 0) return `${name ?? members[0]?.name} does not yield`
  for (const member of yielding) {
    member.priority.yieldUntil(now)
    const ended = member.endYield(now)
    if (ended !== undefined) postEvent(member, ended, now)
  }
  return undefined
}

/** Tells whether a router yields already as Backup, so that only the end can change. */
const isAside = ({ priority, state }: Router): boolean =>
  state.name === 'Backup' && priority.yieldingUntil !== undefined

/** Returns why the router cannot yield, as text after the router's name; `undefined` if the router can yield. */
function reasonToStay({ state, parameters }: Router): string | undefined {
  const { transport } = parameters
  if (isOwner(parameters)) return 'owns its addresses (priority 255)'
  if (state.name === 'Leaving') return 'is leaving already'
  if (state.name === 'Returning') return 'is returning after an absence, not Active'
  if (state.name === 'Backup') {
    return state.active === undefined
      ? 'is Backup here, and no Active is known'
      : `is Backup here; run yield on the Active, ${state.active.source}`
  }
  if (state.name === 'Initialize') return `is not Active here: ${state.faults.join(', ') || 'it is stopped'}`
  if (transport.mode === 'unicast' && transport.peers.length === 0) return 'has no unicast peer that could take over'
  return undefined
}
