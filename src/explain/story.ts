/**
 * Builds the story: the report of `holdfast explain`, as a value (`--json`, version 1: keys are added, never changed;
 * docs/explain.md). This file decides which incidents belong to the request, which incidents are reported as one, and
 * which notes about clocks and journals are added. PURE.
 */
import { type Cause, PREVENTION, SPLIT_BRAIN } from './cause.ts'
import { clockSteps } from './dating.ts'
import { eventText, time } from './event-text.ts'
import { incidentsOf } from './find-incidents.ts'
import { headline, type Naming } from './headline.ts'
import type { Incident } from './incident.ts'
import { cameSoon } from './not-ready.ts'
import { presentOf } from './present.ts'
import {
  type Entry,
  type ListedPeers,
  type Node,
  type NodeJournal,
  nodeAt,
  peerListing,
  peerWith,
  routersOf,
  type Subject,
  type Timeline,
  timelineOf,
} from './timeline.ts'

export type StoryOptions = {
  /** Name of a router or sync group on the reference node. `undefined`: the report is about all routers. */
  readonly router?: string | undefined
  /** Start of the reported period, in milliseconds since the epoch. */
  readonly since: number
  /** Peers in the configuration of the reference node. `undefined` if the configuration could not be read. */
  readonly listed?: ListedPeers | undefined
  /** Text about each journal that could not be read. */
  readonly problems: readonly string[]
}

export type Story = {
  readonly version: 1
  readonly nodes: readonly {
    readonly name: string
    readonly offsetMs: number
    readonly errorMs: number | null
    readonly by: string
    readonly pairs: number
  }[]
  readonly problems: readonly string[]
  /** Problems that exist at the end of the journals, however long ago they began. */
  readonly now: readonly { readonly since: string | null; readonly words: string }[]
  readonly incidents: readonly StoryIncident[]
}

export type StoryIncident = {
  readonly at: string
  readonly cause: Cause
  /** Routers whose VIPs moved at the same time for the same cause. `steps` has the steps of the first router. */
  readonly routers: readonly string[]
  readonly headline: string
  /** Number of further times that the incident happened shortly afterwards. `steps` has the steps of the first time. */
  readonly again: number
  readonly steps: readonly { readonly at: string; readonly node: string; readonly words: string }[]
  readonly phases: readonly { readonly what: string; readonly ms: number; readonly why?: string }[]
  /** Node whose journal has the first step of the incident. */
  readonly noticedBy: string
  readonly prevention: string | null
}

/** Returns the story of several journals. The first journal of the list is that of the reference node. */
export function storyOf(journals: readonly NodeJournal[], { listed, problems, router, since }: StoryOptions): Story {
  const timeline = timelineOf(journals, listed)
  const [reference] = timeline.nodes
  const wanted = (incident: Incident) =>
    incident.at >= since && (router === undefined || reference === undefined || isAbout(incident, reference, router))
  const isWanted = (subject: Subject | undefined) =>
    router === undefined || subject === undefined || reference === undefined || namesOf(reference, subject).has(router)
  const steps = journals.flatMap(({ events, name, now }) =>
    clockSteps(events, now).map(
      ({ at, byMs }) => `The wall clock of ${name} was changed by ${time(byMs)} before ${at}`,
    ),
  )
  return {
    version: 1,
    nodes: timeline.nodes.map(({ name, offset: { by, errorMs, ms, pairs } }) => ({
      name,
      offsetMs: rounded(ms),
      errorMs: Number.isFinite(errorMs) ? rounded(errorMs) : null,
      by,
      pairs,
    })),
    problems: [...problems, ...steps],
    now: presentOf(timeline)
      .filter(({ subject }) => isWanted(subject))
      .map(({ at, text }) => ({ since: at === undefined ? null : moment(at), words: text })),
    incidents: together(incidentsOf(timeline).filter(wanted)).map((group) => storyIncident(timeline, group)),
  }
}

function isAbout(incident: Incident, reference: Node, router: string): boolean {
  const { subject, steps } = incident
  if (subject !== undefined) return namesOf(reference, subject).has(router)
  // A step without a router concerns the whole node, and therefore each router.
  const meant = (name: string | undefined) =>
    name === router || (name !== undefined && groupOf(reference, name) === router)
  return steps.some(({ event }) => !('router' in event) || meant(event.router))
}

/** Returns the names of the virtual router on the reference node, and of its sync groups. */
function namesOf(reference: Node, subject: Subject): ReadonlySet<string> {
  const routers = routersOf(reference, subject)
  return new Set([...routers, ...[...routers].flatMap((router) => groupOf(reference, router) ?? [])])
}

const groupOf = ({ entries }: Node, router: string): string | undefined => {
  const last = entries.findLast(({ event }) => event.kind === 'transition' && event.router === router)?.event
  return last?.kind === 'transition' ? last.group : undefined
}

/** Incidents that are reported as one incident. */
type Group = {
  /** First incident of the group. In a sync group: the incident of the member with the most specific cause. */
  incident: Incident
  readonly routers: string[]
  readonly steps: Entry[]
  until: number
  again: number
}

/** Milliseconds within which all routers of a node that stops move to other nodes. */
const TOGETHER_MS = 1_000
/** Interval at which a lasting problem is recorded again, with a tolerance, in milliseconds. */
const AGAIN_MS = 12_000
/** Number of steps that are shown of a repeated incident. */
const MOST_STEPS = 10

/**
 * Causes whose repetition soon afterwards is only counted. Each failed check and each duplicate holder is reported by
 * itself.
 */
const REPEATED: ReadonlySet<Cause> = new Set([
  ...(['engineAway', 'lossy', 'rejected', 'rival', 'outranked', 'healed', 'foreignChange'] as const),
  ...([
    'reloaded',
    'reloadFailed',
    'carrierLost',
    'interfaceGone',
    'networkMoved',
    'addressNotReady',
    'fault',
  ] as const),
])

function together(incidents: readonly Incident[]): readonly Group[] {
  const groups: Group[] = []
  for (const incident of incidents) {
    const { move } = incident
    const before = groups.findLast((group) => belongs(incident, group))
    if (before === undefined) {
      const routers = move === undefined ? [] : [move.router]
      groups.push({ incident, routers, steps: [...incident.steps], until: incident.at, again: 0 })
    } else if (move !== undefined && !before.routers.includes(move.router)) {
      before.routers.push(move.router)
      if (tells(incident) > tells(before.incident)) {
        before.incident = incident
        before.steps.splice(0, before.steps.length, ...incident.steps)
      }
    } else {
      before.until = incident.at
      before.again++
      if (move === undefined)
        before.steps.push(...incident.steps.filter((step) => !before.steps.includes(step)).slice(0, room(before)))
    }
  }
  return groups
}

/** Rank of causes by how specific they are. A sync group shows the incident with the highest rank. */
const TELLS: Readonly<Partial<Record<Cause, number>>> = {
  ...{ fault: 0, unknown: 0, silent: 1, outranked: 1, released: 2, preempted: 2 },
}
const tells = ({ cause, move }: Incident): number => 2 * (TELLS[cause] ?? 3) + (move?.to === undefined ? 0 : 1)

const room = ({ steps }: Group): number => Math.max(0, MOST_STEPS - steps.length)

function belongs(incident: Incident, { incident: first, routers, until }: Group): boolean {
  const { at, cause, move, node } = incident
  if (first.node !== node) return false
  if (move === undefined || first.move === undefined) {
    const isSame = move === first.move && first.cause === cause
    return isSame && REPEATED.has(cause) && at - until <= AGAIN_MS
  }
  const sameGroup = move.group !== undefined && move.group === first.move.group && !routers.includes(move.router)
  const same = first.cause === cause && move.from === first.move.from && move.to === first.move.to
  return (same || sameGroup) && at - (routers.includes(move.router) ? until : first.at) <= TOGETHER_MS
}

/**
 * Returns the advice for an incident; `null` if no advice applies. An incident with two Actives of one group gets the
 * advice for a split brain.
 */
function preventionOf(timeline: Timeline, { about, cause, move }: Incident): string | null {
  // A reload that moved no VIP needs no advice.
  if (cause === 'reloaded' && move === undefined) return null
  // An address for which the kernel only had to look for a duplicate needs no advice either.
  if (cause === 'addressNotReady' && cameSoon(about)) return null
  const event = about?.event
  if (event?.kind === 'duplicateHolder' || event?.kind === 'peerHeard') {
    const peer = event.kind === 'peerHeard' ? event.peer : peerWith(timeline, event)
    const isOurs = peer !== undefined && nodeAt(timeline, peer) !== undefined
    if (isOurs || (peer !== undefined && peerListing(timeline, event.router, peer) === 'listed')) return SPLIT_BRAIN
  }
  return PREVENTION[cause] ?? null
}

function storyIncident(timeline: Timeline, { again, incident, routers, steps }: Group): StoryIncident {
  const nameOf = (address: string) => {
    const known = timeline.aliases.get(address) ?? address
    return nodeAt(timeline, known)?.name ?? known
  }
  const titleOf: Naming['titleOf'] = (router, address) => {
    const name = nameOf(address)
    return peerListing(timeline, router, name) === 'listed' ? `listed peer ${name}` : name
  }
  const stepOf = ({ at, event, node }: Entry) => ({ at: moment(at), node: node.name, words: eventText(event, nameOf) })
  return {
    at: moment(incident.at),
    cause: incident.cause,
    routers,
    headline: headline(incident, routers, { nameOf, titleOf }),
    again,
    steps: steps.map(stepOf),
    phases: incident.phases.map((phase) => ({ ...phase, ms: rounded(phase.ms) })),
    noticedBy: incident.steps[0]?.node.name ?? incident.node.name,
    prevention: preventionOf(timeline, incident),
  }
}

const moment = (at: number): string => new Date(at).toISOString()
const rounded = (ms: number): number => Math.round(ms * 10) / 10
