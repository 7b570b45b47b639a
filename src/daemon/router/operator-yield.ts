/**
 * The operator's `yield`: a sync group, or a router alone, hands its addresses to another node and stays behind it for a
 * time. Decided here: when that is refused, and why. What the router does is vrrp/extensions/leaving.ts.
 */
import { isOwner } from '../../vrrp/parameters.ts'
import type { Millis } from '../../wire/units.ts'
import type { Chronicle } from '../telemetry/chronicle.ts'
import { postEvent } from './post-event.ts'
import type { Router } from './router.ts'

type Members = readonly Router[]

/** All members have priority 1 until then. If all are Backups that yield already, only the end changes. Returns why not. */
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

/** All members have their own priority again. Returns why not. */
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

/** It has nothing to hand over, and only another end to get. */
const isAside = ({ priority, state }: Router): boolean =>
  state.name === 'Backup' && priority.yieldingUntil !== undefined

/** Returns text that follows the name of the router. */
function reasonToStay({ state, parameters }: Router): string | undefined {
  const { transport } = parameters
  if (isOwner(parameters)) return 'owns its addresses (priority 255)'
  if (state.name === 'Leaving') return 'is leaving already'
  if (state.name === 'Returning') return 'is returning after an absence, not Active'
  if (state.name === 'Backup') {
    return state.active === undefined
      ? 'is Backup here, and has heard no Active'
      : `is Backup here; run yield on the Active, ${state.active.source}`
  }
  if (state.name === 'Initialize') return `is not Active here: ${state.faults.join(', ') || 'it is stopped'}`
  if (transport.mode === 'unicast' && transport.peers.length === 0) return 'has no unicast peer that could take over'
  return undefined
}
