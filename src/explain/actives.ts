/**
 * Routers that advertise as Active at the same time, as a node hears them that is none of them. Decided here: when its story
 * is worth telling beside those of the nodes that are Active, and which events are its steps. PURE.
 */
import type { EventOf } from '../events/event.ts'
import type { Incident } from './incident.ts'
import { isKind, type Node, nodeAt, type Subject, subjectOf, type Timeline, type Told } from './timeline.ts'

export type Heard = Told<EventOf<'twoActives'>>

/** Members of a sync group hear the same within this time. */
const TOGETHER_MS = 2_000

/** The incident at its end, or at its begin while it lasts. */
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

/** The second Active has a story of its own, which is no move, also as this node hears it. */
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

/** A node that is Active itself tells of its rival; two that are, and whose journals are here, tell it all. */
function isToldByOthers(timeline: Timeline, { event, node }: Heard): boolean {
  const nodes = event.actives.flatMap(({ peer }) => nodeAt(timeline, peer) ?? [])
  return nodes.includes(node) || new Set(nodes).size > 1
}

/** From its begin to this event, or to the last one so far. */
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

/** Another member of its sync group has heard it before. */
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
