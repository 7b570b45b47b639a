/**
 * A node that hears two other routers advertise as Active is a witness. Decided here: when the report of a witness
 * becomes an incident of its own, and which events are its steps. A report is left out if the journals of the two
 * Actives are available: they show the same. PURE.
 */
import type { EventOf } from '../events/event.ts'
import type { Incident } from './incident.ts'
import { isKind, type Node, nodeAt, type Subject, subjectOf, type Timeline, type Told } from './timeline.ts'

export type Heard = Told<EventOf<'twoActives'>>

/** Time within which all members of a sync group observe the same change, in milliseconds. */
const TOGETHER_MS = 2_000

/**
 * Returns the incident at the event that ends it, or at the event that began it while it lasts. Returns nothing for
 * other events.
 */
export function severalOf(timeline: Timeline, told: Heard): readonly Incident[] {
  const { event, node } = told
  if (isToldByOthers(timeline, told)) return []
  const steps = episodeOf(told)
  const [begin, last] = [steps[0], steps.at(-1)]
  if (begin === undefined || last !== told || isToldByMember(begin)) return []
  return [
    {
      ...{ at: (event.present ? begin : told).at, cause: 'twoActives', node, subject: subjectAt(node, event.router) },
      ...{ takeover: undefined, phases: [], steps, about: begin },
    },
  ]
}

/**
 * Returns whether the change of Active that this node heard belongs to two Actives at the same time. Such a change is
 * not a move of the VIP.
 */
export function isOfSeveral({ event, node, at }: Told<EventOf<'peerHeard'>>, withinMs: number): boolean {
  const both = [event.peer, event.previous?.peer]
  return node.told.some(
    (told) =>
      isKind(told, 'twoActives') &&
      told.event.present &&
      told.event.router === event.router &&
      Math.abs(told.at - at) <= withinMs &&
      both.every((peer) => told.event.actives.some((active) => active.peer === peer)),
  )
}

/**
 * Returns whether other journals show the same: the node itself is one of the Actives, or two of the Actives have a
 * journal here.
 */
function isToldByOthers(timeline: Timeline, { event, node }: Heard): boolean {
  const nodes = event.actives.flatMap(({ peer }) => nodeAt(timeline, peer) ?? [])
  return nodes.includes(node) || new Set(nodes).size > 1
}

/** Returns the `twoActives` events of one episode, from its begin to this event, or to the last one while it lasts. */
function episodeOf({ event: { router, seq }, node }: Heard): readonly Heard[] {
  let episode: Heard[] = []
  let isOver = false
  for (const told of node.told) {
    const isLater = episode.some(({ event }) => event.seq === seq)
    if (isOver || told.event.kind === 'started') {
      if (isLater) break
      episode = []
      isOver = false
    }
    if (!isKind(told, 'twoActives') || told.event.router !== router) continue
    episode.push(told)
    isOver = !told.event.present
  }
  return episode
}

/** Returns whether another member of the same sync group reported it shortly before. */
function isToldByMember({ at, event, node }: Heard): boolean {
  const group = transitionOf(node, event.router)?.event.group
  if (group === undefined) return false
  return node.told.some(
    (told) =>
      isKind(told, 'twoActives') &&
      told.event.present &&
      told.event.seq < event.seq &&
      at - told.at <= TOGETHER_MS &&
      told.event.router !== event.router &&
      transitionOf(node, told.event.router)?.event.group === group,
  )
}

const transitionOf = ({ told }: Node, router: string): Told<EventOf<'transition'>> | undefined =>
  told.findLast(
    (each): each is Told<EventOf<'transition'>> => isKind(each, 'transition') && each.event.router === router,
  )

function subjectAt(node: Node, router: string): Subject | undefined {
  const own = transitionOf(node, router)
  return own === undefined ? undefined : subjectOf(own.event)
}
