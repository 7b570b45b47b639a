/**
 * A node that receives the advertisements of two other Actives is a witness. This file decides when the report of a
 * witness becomes an incident of its own, and which events are the steps of that incident. If the journals of the two
 * Actives are available, the report is left out, because these journals show the same. PURE.
 */
import type { EventOf } from '../events/event.ts'
import type { Incident } from './incident.ts'
import { type Entry, isKind, type Node, nodeAt, type Subject, subjectOf, type Timeline } from './timeline.ts'

export type Heard = Entry<EventOf<'twoActives'>>

/** Time within which all members of a sync group observe the same change, in milliseconds. */
const TOGETHER_MS = 2_000

/**
 * Returns the incident of several Actives at the event that ends it. While the incident lasts, returns it at the event
 * that began it. Empty for all other events.
 */
export function severalOf(timeline: Timeline, entry: Heard): readonly Incident[] {
  const { event, node } = entry
  if (isToldByOthers(timeline, entry)) return []
  const steps = episodeOf(entry)
  const [begin, last] = [steps[0], steps.at(-1)]
  if (begin === undefined || last !== entry || isToldByMember(begin)) return []
  return [
    {
      ...{ at: (event.present ? begin : entry).at, cause: 'twoActives', node, subject: subjectAt(node, event.router) },
      ...{ takeover: undefined, phases: [], steps, about: begin },
    },
  ]
}

/**
 * Tells whether the change of the Active that this node received belongs to two Actives at the same time. A change
 * between two Actives is not a move of the VIP.
 */
export function isOfSeveral({ event, node, at }: Entry<EventOf<'peerHeard'>>, withinMs: number): boolean {
  const both = [event.peer, event.previous?.peer]
  return node.entries.some(
    (entry) =>
      isKind(entry, 'twoActives') &&
      entry.event.present &&
      entry.event.router === event.router &&
      Math.abs(entry.at - at) <= withinMs &&
      both.every((peer) => entry.event.actives.some((active) => active.peer === peer)),
  )
}

/**
 * Tells whether other journals show the same Actives: the node itself is one of them, or two of the Actives have a
 * journal here.
 */
function isToldByOthers(timeline: Timeline, { event, node }: Heard): boolean {
  const nodes = event.actives.flatMap(({ peer }) => nodeAt(timeline, peer) ?? [])
  return nodes.includes(node) || new Set(nodes).size > 1
}

/**
 * Returns the `twoActives` events of one episode, from the begin of the episode to this event; while the episode lasts,
 * to its last event.
 */
function episodeOf({ event: { router, seq }, node }: Heard): readonly Heard[] {
  let episode: Heard[] = []
  let isOver = false
  for (const entry of node.entries) {
    const isLater = episode.some(({ event }) => event.seq === seq)
    if (isOver || entry.event.kind === 'started') {
      if (isLater) break
      episode = []
      isOver = false
    }
    if (!isKind(entry, 'twoActives') || entry.event.router !== router) continue
    episode.push(entry)
    isOver = !entry.event.present
  }
  return episode
}

/** Tells whether another member of the same sync group reported the same Actives shortly before. */
function isToldByMember({ at, event, node }: Heard): boolean {
  const group = transitionOf(node, event.router)?.event.group
  if (group === undefined) return false
  return node.entries.some(
    (entry) =>
      isKind(entry, 'twoActives') &&
      entry.event.present &&
      entry.event.seq < event.seq &&
      at - entry.at <= TOGETHER_MS &&
      entry.event.router !== event.router &&
      transitionOf(node, entry.event.router)?.event.group === group,
  )
}

const transitionOf = ({ entries }: Node, router: string): Entry<EventOf<'transition'>> | undefined =>
  entries.findLast(
    (each): each is Entry<EventOf<'transition'>> => isKind(each, 'transition') && each.event.router === router,
  )

function subjectAt(node: Node, router: string): Subject | undefined {
  const own = transitionOf(node, router)
  return own === undefined ? undefined : subjectOf(own.event)
}
