/**
 * What happened to a node without an address that moved for it. Decided here: which events are worth a story of their own,
 * and which are only the other side of one that is told anyway. PURE.
 */
import type { EventOf } from '../events/event.ts'
import { type Cause, ofFault } from './cause.ts'
import type { Incident } from './incident.ts'
import { isExplainedBySender, SLACK_MS } from './missed.ts'
import { causeOfMissingSource, followsMissingSource } from './not-ready.ts'
import { chainOf, isKind, nodeAt, type Timeline, type Told } from './timeline.ts'

/** What an Active hears so soon after it has become one is what the one before it had still sent. */
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
      // One that has said so itself is told there.
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

/** Other groups on the LAN, and what the kernel gives back to us. */
const NO_NEWS: ReadonlySet<string> = new Set(['vrid-unknown', 'self-originated', 'destination'])

function isPartOfAbsence({ at, node }: Told): boolean {
  return node.told.some((other) => isKind(other, 'absence') && Math.abs(other.at - at) <= SLACK_MS)
}

/** Nobody of those whose journals are here, and not what somebody said before he let go. */
function isStranger(timeline: Timeline, { at, node }: Told, { peer, router }: EventOf<'peerHeard'>): boolean {
  if (nodeAt(timeline, peer) !== undefined) return false
  const became = node.told.findLast(
    (told): told is Told<EventOf<'transition'>> =>
      isKind(told, 'transition') && told.event.router === router && told.event.to === 'Active' && told.at <= at,
  )
  return became === undefined || at - became.at > SETTLED * became.event.interval
}
