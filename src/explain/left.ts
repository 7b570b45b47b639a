/**
 * Moves to a node whose journal is not available. Either a router of this node stops being Active, or a Backup hears a
 * new Active. Decided here: a cause in this node's own journal counts. Without one, the cause says that it is unknown.
 * PURE.
 */
import type { EventOf } from '../events/event.ts'
import { isOfSeveral } from './actives.ts'
import type { Cause } from './cause.ts'
import { changeOf, ofChange, ofLeaving, patienceOf, removalOf, type Takeover } from './diagnosis.ts'
import type { Incident } from './incident.ts'
import {
  chainOf,
  hadDied,
  isKind,
  nodeAt,
  standingOf,
  stateAt,
  subjectOf,
  type Timeline,
  type Told,
} from './timeline.ts'

type Heard = Told<EventOf<'peerHeard'>>

/** Returns the incident of a router that stopped being Active. */
export function leftOf(timeline: Timeline, lost: Takeover): readonly Incident[] {
  const { event, node } = lost
  const next = event.to === 'Leaving' ? nextOf(lost) : undefined
  // No successor was found, so the router became Active again. That transition is reported instead.
  if (next?.event.to === 'Active') return []
  const chain = [...(next === undefined ? [] : chainOf(next)), ...chainOf(lost)]
  const heard = chain.find((told): told is Heard => isKind(told, 'peerHeard'))
  const to = event.peer ?? next?.event.peer ?? heard?.event.peer
  const { cause, evidence } = causeOf(timeline, lost, heard, to)
  return [
    {
      ...{ at: lost.at, cause, node, subject: subjectOf(event), takeover: undefined, phases: [] },
      steps: sorted([...evidence, ...chain]),
      move: { ...of(event), from: node.name, to },
    },
  ]
}

/** Returns the incident of a Backup that hears a new Active. */
export function seenOf(timeline: Timeline, seen: Heard): readonly Incident[] {
  const { node, event, at } = seen
  const { peer, previous, router } = event
  if (event.news !== 'active' || previous === undefined || previous.peer === peer) return []
  const own = node.told.findLast(
    (told): told is Takeover => isKind(told, 'transition') && told.event.router === router && told.at <= at,
  )
  if (own === undefined) return []
  // Both Actives have a journal here, which reports the move.
  if (nodeAt(timeline, peer) !== undefined && nodeAt(timeline, previous.peer) !== undefined) return []
  const heardWithin = patienceOf(own.event)
  if (isOfSeveral(seen, heardWithin)) return []
  const nameOf = (address: string) => nodeAt(timeline, address)?.name ?? address
  const said = node.told.findLast(
    (told): told is Heard =>
      isKind(told, 'peerHeard') &&
      told.event.router === router &&
      told.event.peer === previous.peer &&
      (told.event.news === 'lowered' || told.event.news === 'released') &&
      told.at >= at - heardWithin &&
      told.at <= at,
  )
  const cause = causeOfSeen(timeline, seen, { previous, since: at - heardWithin, said, own })
  return [
    {
      ...{ at, cause, node, subject: subjectOf(own.event), takeover: undefined, phases: [] },
      steps: said === undefined ? [seen] : [said, seen],
      move: { ...of(own.event), from: nameOf(previous.peer), to: nameOf(peer), heardWithin },
    },
  ]
}

type Seen = {
  readonly previous: { readonly peer: string; readonly priority: number }
  readonly since: number
  readonly said: Heard | undefined
  readonly own: Takeover
}

function causeOfSeen(timeline: Timeline, { at, event }: Heard, { own, previous, said, since }: Seen): Cause {
  const before = nodeAt(timeline, previous.peer)
  if (before !== undefined && hadDied(before, since, at) === true)
    return said?.event.news === 'released' ? 'engineDied' : 'nodeDied'
  if (said !== undefined) return 'released'
  if (event.priority > previous.priority) return 'preempted'
  return before !== undefined && stateAt(before, subjectOf(own.event), at) === 'Active' ? 'cut' : 'silent'
}

const of = ({ addresses, group, router }: EventOf<'transition'>) => ({ addresses, group, router })

function nextOf(lost: Takeover): Takeover | undefined {
  const { node, event } = lost
  return node.told.find(
    (told): told is Takeover =>
      isKind(told, 'transition') && told.event.router === event.router && told.event.seq > event.seq,
  )
}

type Found = { readonly cause: Cause; readonly evidence: readonly Told[] }

function causeOf(timeline: Timeline, lost: Takeover, heard: Heard | undefined, to: string | undefined): Found {
  const chain = chainOf(lost)
  const { reason, router } = lost.event
  if (chain.some((told) => isKind(told, 'absence'))) return { cause: 'engineAway', evidence: [] }
  if (reason === 'linkDown') {
    const gone = removalOf(lost)
    return gone === undefined ? { cause: 'carrierLost', evidence: [] } : { cause: 'interfaceGone', evidence: [gone] }
  }
  if (reason !== 'higherPriorityHeard' && reason !== 'higherAddressHeard')
    return { cause: ofLeaving(lost), evidence: [] }
  const fell = changeOf(lost.node, lost, ({ active, from, to: now }) => active && now < from)
  const said = heard?.event.priority
  // Without the lower priority, this router would have stayed Active.
  if (fell !== undefined && (said === undefined || said <= fell.event.from))
    return { cause: ofChange(fell), evidence: chainOf(fell) }
  const isListed = to !== undefined && standingOf(timeline, router, to) === 'listed'
  return {
    cause: isListed || to === undefined || nodeAt(timeline, to) !== undefined ? 'preempted' : 'outranked',
    evidence: [],
  }
}

const sorted = (told: readonly Told[]): readonly Told[] => [...new Set(told)].sort((one, other) => one.at - other.at)
