/**
 * Finds the incidents in the journals: takeovers with their cause and phases, periods with two Actives, and incidents
 * without a move of a VIP. This file decides which events are the steps of one incident, and the phases of an incident.
 * PURE.
 */
import type { EventOf } from '../events/event.ts'
import { severalOf } from './actives.ts'
import { singleEvent } from './alone.ts'
import { diagnose, type Takeover } from './diagnosis.ts'
import { time } from './event-text.ts'
import type { Incident, Phase } from './incident.ts'
import { leftOf, seenOf } from './left.ts'
import { beganAway, chainOf, type Entry, isKind, type Node, nodeAt, subjectOf, type Timeline } from './timeline.ts'

export function incidentsOf(timeline: Timeline): readonly Incident[] {
  const found = timeline.entries.flatMap((entry): readonly Incident[] => {
    if (isKind(entry, 'transition')) {
      if (entry.event.to === 'Active') return [takeoverOf(timeline, entry)]
      return entry.event.from === 'Active' ? lostOf(timeline, entry) : []
    }
    if (isKind(entry, 'peerHeard') && entry.event.news === 'active') return seenOf(timeline, entry)
    if (isKind(entry, 'twoActives')) return severalOf(timeline, entry)
    return singleEvent(timeline, entry)
  })
  const moved = found.filter(({ takeover }) => takeover !== undefined)
  // Events that are steps of a takeover are no incidents of their own. The same is true for the steps of a router that
  // stopped being Active.
  const left = without(moved, found).filter(({ move }) => move !== undefined && move.heardWithin === undefined)
  const reported = new Set([...moved, ...left])
  const seen = found.filter((each) => each.move?.heardWithin !== undefined)
  const unreported = seen.filter((each) => ![...reported].some((other) => isSameMove(other, each)))
  const moves = [...reported].map((each) => withTarget(each, seen))
  return [...without([...reported], found), ...moves, ...unreported].sort((one, other) => one.at - other.at)
}

/** Returns the incidents of `found` that have no step in common with an incident of `moved`. */
function without(moved: readonly Incident[], found: readonly Incident[]): readonly Incident[] {
  const steps = new Set(moved.flatMap((each) => each.steps))
  const known = new Set(moved)
  return found.filter(
    (each) =>
      !known.has(each) &&
      each.move?.heardWithin === undefined &&
      !each.steps.some((step) => steps.has(step)) &&
      !isDeathOf(moved, each),
  )
}

/** Completes a move that has no successor from the report of a third node. */
function withTarget(left: Incident, seen: readonly Incident[]): Incident {
  if (left.move === undefined || left.move.to !== undefined) return left
  const to = seen.find((each) => isSameMove(left, each))?.move?.to
  return to === undefined ? left : { ...left, move: { ...left.move, to } }
}

/** Tells whether a witness reported the same move of the VIP as a node that took part in the move. */
function isSameMove(reported: Incident, { at, move, subject }: Incident): boolean {
  if (reported.subject !== subject || reported.move === undefined || move?.heardWithin === undefined) return false
  const isFrom = reported.takeover === undefined && reported.move.from === move.from
  const isTo = reported.takeover !== undefined && reported.move.to === move.to
  const began = Math.min(reported.at, ...reported.steps.map((step) => beganAway(step) ?? step.at))
  if (isFrom) return at >= began - SAME_MOMENT && at <= Math.max(reported.at, began + move.heardWithin)
  return isTo && Math.abs(reported.at - at) <= move.heardWithin
}

/**
 * Largest number of intervals from the death of a node to the takeover by another node. A faster restart prevents a
 * takeover.
 */
const PATIENCE = 5

/** Tells whether a crash was the cause of a takeover that is already reported. */
function isDeathOf(moved: readonly Incident[], { at, cause, node, steps }: Incident): boolean {
  const [found] = steps
  const event = found?.event
  if (cause !== 'died' || (event?.kind !== 'earlierLife' && event?.kind !== 'crashed')) return false
  const last =
    event.kind === 'crashed' ? at - SAME_MOMENT : (node.byNumber.get(event.lastSeq)?.at ?? Number.NEGATIVE_INFINITY)
  return moved.some(
    (each) =>
      each.takeover?.before === node &&
      (each.cause === 'engineDied' || each.cause === 'nodeDied') &&
      each.at >= last &&
      each.at <= at + PATIENCE * each.takeover.event.interval,
  )
}

function takeoverOf(timeline: Timeline, takeover: Takeover): Incident {
  const diagnosis = diagnose(timeline, takeover)
  const announced = takeover.node.entries.find(
    (entry) => isKind(entry, 'announced') && entry.event.because === takeover.event.seq,
  )
  const left = leavingOf(timeline, takeover)
  const steps = sorted([...diagnosis.evidence, takeover, ...(announced === undefined ? [] : [announced]), ...left])
  return {
    at: takeover.at,
    cause: diagnosis.cause,
    node: takeover.node,
    subject: subjectOf(takeover.event),
    takeover: { ...diagnosis, event: takeover.event },
    move: {
      ...{ router: takeover.event.router, group: takeover.event.group, addresses: takeover.event.addresses },
      ...{ from: diagnosis.before?.name ?? diagnosis.peer, to: takeover.node.name },
    },
    steps,
    phases: phasesOf(takeover, steps, announced),
  }
}

/** Returns the transitions that the previous holder makes because it receives the new Active. */
function leavingOf(timeline: Timeline, takeover: Takeover): readonly Entry[] {
  const subject = subjectOf(takeover.event)
  const until = takeover.at + takeover.event.interval
  return timeline.entries.filter(
    (entry) =>
      isKind(entry, 'transition') &&
      entry.node !== takeover.node &&
      subjectOf(entry.event) === subject &&
      (entry.event.from === 'Active' || entry.event.from === 'Leaving') &&
      entry.at >= takeover.at - SAME_MOMENT &&
      entry.at <= until,
  )
}

const SAME_MOMENT = 100

/** Returns the phases of a takeover, from the first event to the announcement on the LAN. */
function phasesOf(takeover: Takeover, steps: readonly Entry[], announced: Entry | undefined): readonly Phase[] {
  const { event, at, node } = takeover
  const decidedAt = at - (event.monotonicMs - event.decidedMs)
  const phases: Phase[] = []
  const away = steps.find((step) => step.node !== node && beganAway(step) !== undefined)
  if (away?.event.kind === 'absence' && away.event.agoMs !== undefined && event.reason === 'activeReleased') {
    const { agoMs, silentMs = agoMs } = away.event
    phases.push({ what: `guardian of ${away.node.name} acted after`, ms: silentMs - agoMs })
  }
  const first = steps.find((step) => step.at <= decidedAt && step.event.kind !== 'started' && step !== takeover)
  const heard = steps.find((step) => step.node === node && step.event.kind === 'peerHeard' && step.at <= decidedAt)
  if (event.reason === 'activeSilent' && event.heard !== undefined)
    phases.push({ what: `${node.name} heard nothing for`, ms: event.heard.agoMs, why: 'Active_Down_Interval' })
  else if (first !== undefined) {
    const noticed = heard !== undefined && heard !== first ? heard : undefined
    if (noticed !== undefined) phases.push({ what: `${node.name} heard it after`, ms: noticed.at - first.at })
    const waited = { what: `${node.name} waited`, ms: decidedAt - (noticed ?? first).at }
    phases.push({ ...waited, ...waitOf(event, heard) })
  }
  phases.push({ what: 'VIP installed after', ms: at - decidedAt })
  if (announced !== undefined) phases.push({ what: 'announced after', ms: announced.at - at })
  return phases.filter(({ ms }) => ms >= 0)
}

/** Returns why a Backup waited before it took over. Empty if the reason is unknown. */
function waitOf({ reason }: EventOf<'transition'>, heard: Entry | undefined): { readonly why?: string } {
  if (reason === 'activeReleased' || reason === 'activeDemoted') return { why: 'Skew_Time' }
  const held = heard !== undefined && isKind(heard, 'peerHeard') ? heard.event.heldBy : undefined
  return held === undefined ? {} : { why: `minHold: the VIP had moved ${time(held.movedAgoMs)} before` }
}

/**
 * Returns the incident of a router that stopped being Active. If another known node was Active at the same time for
 * longer than a preemption lasts, the cause is `healed`.
 */
function lostOf(timeline: Timeline, lost: Takeover): readonly Incident[] {
  const { event, node, at } = lost
  if (followsReported(timeline, lost)) return []
  if (!isOutrankedByKnown(timeline, event)) return leftOf(timeline, lost)
  const common = { at, node, takeover: undefined, phases: [], steps: sorted(chainOf(lost)) }
  const subject = subjectOf(event)
  const starts = (who: (other: Node) => boolean) =>
    timeline.entries.findLast(
      (entry): entry is Takeover =>
        isKind(entry, 'transition') &&
        who(entry.node) &&
        subjectOf(entry.event) === subject &&
        entry.event.to === 'Active' &&
        entry.at < at,
    )
  const [own, other] = [starts((each) => each === node), starts((each) => each.addresses.has(event.peer ?? ''))]
  if (own === undefined || other === undefined) return []
  const twoHoldersMs = at - Math.max(own.at, other.at)
  if (twoHoldersMs < 1.5 * event.interval) return []
  return [{ ...common, cause: 'healed', subject, twoHoldersMs }]
}

/** Tells whether this router only follows a sync group member whose own transition is reported. */
function followsReported(timeline: Timeline, { at, event, node }: Takeover): boolean {
  if (!event.reason.startsWith('syncGroup:')) return false
  return node.entries.some(
    (entry) =>
      isKind(entry, 'transition') &&
      entry.event.router === event.reason.slice('syncGroup:'.length) &&
      entry.event.from === 'Active' &&
      Math.abs(entry.at - at) <= SAME_MOMENT &&
      isOutrankedByKnown(timeline, entry.event),
  )
}

const isOutrankedByKnown = (timeline: Timeline, { peer, reason }: EventOf<'transition'>): boolean =>
  (reason === 'higherPriorityHeard' || reason === 'higherAddressHeard') &&
  peer !== undefined &&
  nodeAt(timeline, peer) !== undefined

const sorted = (entries: readonly Entry[]): readonly Entry[] =>
  [...new Set(entries)].sort((one, other) => one.at - other.at)
