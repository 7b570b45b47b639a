/**
 * Finds incidents in which no VIP moved. This file decides which events are an incident of their own, and which only
 * repeat what another node's journal explains. PURE.
 */
import type { EventOf } from '../events/event.ts'
import { type Cause, ofFault } from './cause.ts'
import type { Incident } from './incident.ts'
import { isExplainedBySender, SLACK_MS } from './missed.ts'
import { causeOfMissingSource, followsMissingSource } from './not-ready.ts'
import { chainOf, type Entry, isKind, nodeAt, type Timeline } from './timeline.ts'

/** Number of advertisement intervals after a takeover in which late packets of the previous Active may still arrive. */
const SETTLED = 5
/** Milliseconds between a crash and the last event of the engine's restart after it. */
const RESTART_MS = 10_000

export function singleEvent(timeline: Timeline, entry: Entry): readonly Incident[] {
  const cause = causeOf(timeline, entry)
  if (cause === undefined) return []
  const { at, event, node } = entry
  const sender = event.kind === 'advertisementsMissed' ? nodeAt(timeline, event.peer) : undefined
  const steps = [...new Set(chainOf(entry))].sort((one, other) => one.at - other.at)
  return [{ at, cause, node, subject: undefined, takeover: undefined, steps, phases: [], about: entry, sender }]
}

function causeOf(timeline: Timeline, entry: Entry): Cause | undefined {
  const { event } = entry
  switch (event.kind) {
    case 'foreignChange':
      return 'foreignChange'
    case 'duplicateHolder':
      return event.present ? 'duplicateHolder' : undefined
    case 'absence':
      return 'engineAway'
    case 'engineLate':
      return isPartOfAbsence(entry) ? undefined : 'engineAway'
    case 'advertisementsMissed':
      return isExplainedBySender(timeline, entry, event) ? undefined : 'lossy'
    case 'packetsDiscarded':
      return NO_NEWS.has(event.reason) ? undefined : 'rejected'
    case 'peerHeard':
      return event.news === 'rival' && isUnknownSender(timeline, entry, event) ? 'rival' : undefined
    case 'reloaded':
      if (!event.ok) return 'reloadFailed'
      return (event.changes ?? []).length + (event.checksChanged ?? []).length > 0 ? 'reloaded' : undefined
    case 'guardianLost':
      return 'guardianLost'
    case 'crashed':
      return restartAfter(entry) === undefined ? 'died' : undefined
    case 'engineRestarted':
      return event.routers.length > 0 ? 'engineRestarted' : undefined
    case 'engineUpgraded':
      return event.routers.length > 0 ? 'engineUpgraded' : undefined
    case 'earlierLife':
      // A crash that the crashed run itself recorded is reported at that event.
      if (restartAfter(entry) !== undefined) return undefined
      return event.ended === 'abruptly' && entry.node.byNumber.get(event.lastSeq)?.event.kind !== 'crashed'
        ? 'died'
        : undefined
    case 'faultChanged':
      return ofChangedFault(entry)
    case 'checkChanged':
      return event.to === 'down' ? 'checkFailed' : undefined
    case 'packetsLost':
    case 'journalGap':
      return 'unknown'
    default:
      return undefined
  }
}

/** Returns the restart or upgrade that reports the same end. The new engine records it before it reads the journal of the old one. */
function restartAfter({ at, node }: Entry): Entry | undefined {
  return node.entries.find((other) => {
    if (!isKind(other, 'engineRestarted') && !isKind(other, 'engineUpgraded')) return false
    return other.event.routers.length > 0 && Math.abs(other.at - at) <= RESTART_MS
  })
}

function ofChangedFault(entry: Entry): Cause | undefined {
  if (!isKind(entry, 'faultChanged') || !entry.event.present) return undefined
  if (entry.event.fault === 'sourceAddressMissing') return causeOfMissingSource(entry)
  return followsMissingSource(entry) ? 'addressNotReady' : ofFault(entry.event.fault)
}

/**
 * Reasons for discarded packets that are normal: another VRRP group on the LAN, or a packet of this node that the
 * kernel delivers back.
 */
const NO_NEWS: ReadonlySet<string> = new Set(['vrid-unknown', 'self-originated', 'destination'])

function isPartOfAbsence({ at, node }: Entry): boolean {
  return node.entries.some((other) => isKind(other, 'absence') && Math.abs(other.at - at) <= SLACK_MS)
}

/** Tells whether the sender has no journal here and its advertisement is not a late packet of the previous Active. */
function isUnknownSender(timeline: Timeline, { at, node }: Entry, { peer, router }: EventOf<'peerHeard'>): boolean {
  if (nodeAt(timeline, peer) !== undefined) return false
  const became = node.entries.findLast(
    (entry): entry is Entry<EventOf<'transition'>> =>
      isKind(entry, 'transition') && entry.event.router === router && entry.event.to === 'Active' && entry.at <= at,
  )
  return became === undefined || at - became.at > SETTLED * became.event.interval
}
