/**
 * Incidents in which no VIP moved. Decided here: which events are an incident of their own, and which only repeat what
 * another node's journal explains. PURE.
 */
import type { EventOf } from '../events/event.ts'
import { type Cause, ofFault } from './cause.ts'
import type { Incident } from './incident.ts'
import { isExplainedBySender, SLACK_MS } from './missed.ts'
import { causeOfMissingSource, followsMissingSource } from './not-ready.ts'
import { chainOf, isKind, nodeAt, type Timeline, type Told } from './timeline.ts'

/** Number of advertisement intervals after a takeover in which late packets of the previous Active may still arrive. */
const SETTLED = 5

export function aloneOf(timeline: Timeline, told: Told): readonly Incident[] {
  const cause = causeOf(timeline, told)
  if (cause === undefined) return []
  const { at, event, node } = told
  const sender = event.kind === 'advertisementsMissed' ? nodeAt(timeline, event.peer) : undefined
  const steps = [...new Set(chainOf(told))].sort((one, other) => one.at - other.at)
  return [{ at, cause, node, subject: undefined, takeover: undefined, steps, phases: [], about: told, sender }]
}

function causeOf(timeline: Timeline, told: Told): Cause | undefined {
  const { event } = told
  switch (event.kind) {
    case 'foreignChange':
      return 'foreignChange'
    case 'duplicateHolder':
      return event.present ? 'duplicateHolder' : undefined
    case 'absence':
      return 'engineAway'
    case 'engineLate':
      return isPartOfAbsence(told) ? undefined : 'engineAway'
    case 'advertisementsMissed':
      return isExplainedBySender(timeline, told, event) ? undefined : 'lossy'
    case 'packetsDiscarded':
      return NO_NEWS.has(event.reason) ? undefined : 'rejected'
    case 'peerHeard':
      return event.news === 'rival' && isStranger(timeline, told, event) ? 'rival' : undefined
    case 'reloaded':
      if (!event.ok) return 'reloadFailed'
      return (event.changes ?? []).length + (event.checksChanged ?? []).length > 0 ? 'reloaded' : undefined
    case 'guardianLost':
      return 'guardianLost'
    case 'crashed':
      return 'died'
    case 'earlierLife':
      // A crash that the run recorded itself is reported at that event.
      return event.ended === 'abruptly' && told.node.byNumber.get(event.lastSeq)?.event.kind !== 'crashed'
        ? 'died'
        : undefined
    case 'faultChanged':
      return ofChangedFault(told)
    case 'checkChanged':
      return event.to === 'down' ? 'checkFailed' : undefined
    case 'packetsLost':
    case 'journalGap':
      return 'unknown'
    default:
      return undefined
  }
}

function ofChangedFault(told: Told): Cause | undefined {
  if (!isKind(told, 'faultChanged') || !told.event.present) return undefined
  if (told.event.fault === 'sourceAddressMissing') return causeOfMissingSource(told)
  return followsMissingSource(told) ? 'addressNotReady' : ofFault(told.event.fault)
}

/**
 * Reasons for discarded packets that are normal: another VRRP group on the LAN, or a packet of this node that the
 * kernel delivers back.
 */
const NO_NEWS: ReadonlySet<string> = new Set(['vrid-unknown', 'self-originated', 'destination'])

function isPartOfAbsence({ at, node }: Told): boolean {
  return node.told.some((other) => isKind(other, 'absence') && Math.abs(other.at - at) <= SLACK_MS)
}

/** Returns whether the sender has no journal here and its advertisement is not a late packet of the previous Active. */
function isStranger(timeline: Timeline, { at, node }: Told, { peer, router }: EventOf<'peerHeard'>): boolean {
  if (nodeAt(timeline, peer) !== undefined) return false
  const became = node.told.findLast(
    (told): told is Told<EventOf<'transition'>> =>
      isKind(told, 'transition') && told.event.router === router && told.event.to === 'Active' && told.at <= at,
  )
  return became === undefined || at - became.at > SETTLED * became.event.interval
}
