/**
 * Finds moves of a VIP to a node whose journal is not available. Either a router of this node stops being Active, or a
 * Backup receives a new Active. If this node's own journal has a cause, that cause counts. Without a cause in the
 * journal, the incident says that the cause is unknown. PURE.
 */
import type { EventOf } from '../events/event.ts'
import { isOfSeveral } from './actives.ts'
import type { Cause } from './cause.ts'
import { changeOf, ofChange, ofLeaving, removalOf, type Takeover, toleranceOf } from './diagnosis.ts'
import type { Incident } from './incident.ts'
import {
  chainOf,
  type Entry,
  hadDied,
  isKind,
  nodeAt,
  peerListing,
  stateAt,
  subjectOf,
  type Timeline,
} from './timeline.ts'

type Heard = Entry<EventOf<'peerHeard'>>

/** Returns the incident of a router that stopped being Active, while the journal of the new Active is missing. */
export function leftOf(timeline: Timeline, lost: Takeover): readonly Incident[] {
  const { event, node } = lost
  const next = event.to === 'Leaving' ? nextOf(lost) : undefined
  // The router found no successor and became Active again. The transition back to Active is reported as an incident,
  // not the state Leaving.
  if (next?.event.to === 'Active') return []
  const chain = [...(next === undefined ? [] : chainOf(next)), ...chainOf(lost)]
  const heard = chain.find((entry): entry is Heard => isKind(entry, 'peerHeard'))
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

/** Returns the incident of a Backup that receives advertisements of a new Active. */
export function seenOf(timeline: Timeline, seen: Heard): readonly Incident[] {
  const { node, event, at } = seen
  const { peer, previous, router } = event
  if (event.news !== 'active' || previous === undefined || previous.peer === peer) return []
  const own = node.entries.findLast(
    (entry): entry is Takeover => isKind(entry, 'transition') && entry.event.router === router && entry.at <= at,
  )
  if (own === undefined) return []
  // The two Actives have a journal here, so the move of the VIP is reported from these journals.
  if (nodeAt(timeline, peer) !== undefined && nodeAt(timeline, previous.peer) !== undefined) return []
  const heardWithin = toleranceOf(own.event)
  if (isOfSeveral(seen, heardWithin)) return []
  const nameOf = (address: string) => nodeAt(timeline, address)?.name ?? address
  const said = node.entries.findLast(
    (entry): entry is Heard =>
      isKind(entry, 'peerHeard') &&
      entry.event.router === router &&
      entry.event.peer === previous.peer &&
      (entry.event.news === 'lowered' || entry.event.news === 'released') &&
      entry.at >= at - heardWithin &&
      entry.at <= at,
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
  return node.entries.find(
    (entry): entry is Takeover =>
      isKind(entry, 'transition') && entry.event.router === event.router && entry.event.seq > event.seq,
  )
}

type Found = { readonly cause: Cause; readonly evidence: readonly Entry[] }

function causeOf(timeline: Timeline, lost: Takeover, heard: Heard | undefined, to: string | undefined): Found {
  const chain = chainOf(lost)
  const { reason, router } = lost.event
  if (chain.some((entry) => isKind(entry, 'absence'))) return { cause: 'engineAway', evidence: [] }
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
  const isListed = to !== undefined && peerListing(timeline, router, to) === 'listed'
  return {
    cause: isListed || to === undefined || nodeAt(timeline, to) !== undefined ? 'preempted' : 'outranked',
    evidence: [],
  }
}

const sorted = (entries: readonly Entry[]): readonly Entry[] =>
  [...new Set(entries)].sort((one, other) => one.at - other.at)
