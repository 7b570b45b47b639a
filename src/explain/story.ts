/**
 * The story as a value, which is what --json prints (version 1: keys are added, never changed; docs/explain.md). Decided
 * here: which incidents it is about, what counts as one because it happened together, and what is said about clocks and
 * journals. PURE.
 */
import { type Cause, PREVENTION, SPLIT_BRAIN } from './cause.ts'
import { clockSteps } from './dating.ts'
import { incidentsOf } from './find-incidents.ts'
import { headline, type Naming } from './headline.ts'
import type { Incident } from './incident.ts'
import { cameSoon } from './not-ready.ts'
import { presentOf } from './present.ts'
import {
  type ListedPeers,
  type Node,
  type NodeJournal,
  nodeAt,
  peerWith,
  routersOf,
  type Subject,
  standingOf,
  type Timeline,
  type Told,
  timelineOf,
} from './timeline.ts'
import { time, wordsOf } from './words.ts'

export type StoryOptions = {
  /** Of the teller; undefined: all of them. */
  readonly router?: string | undefined
  /** Milliseconds since the epoch. */
  readonly since: number
  /** As the configuration of the teller has them; `undefined`: it could not be read. */
  readonly listed?: ListedPeers | undefined
  /** What could not be read. */
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
  /** What is wrong at the end of the journals, however long ago it began. */
  readonly now: readonly { readonly since: string | null; readonly words: string }[]
  readonly incidents: readonly ToldIncident[]
}

export type ToldIncident = {
  readonly at: string
  readonly cause: Cause
  /** That moved for this cause at the same time; the steps are those of the first. */
  readonly routers: readonly string[]
  readonly headline: string
  /** How often it happened once more right after that; the steps are then the first ones. */
  readonly again: number
  readonly steps: readonly { readonly at: string; readonly node: string; readonly words: string }[]
  readonly phases: readonly { readonly what: string; readonly ms: number; readonly why?: string }[]
  /** The node whose journal has the first step. */
  readonly noticedBy: string
  readonly prevention: string | null
}

/** The teller's journal comes first. */
export function storyOf(journals: readonly NodeJournal[], { listed, problems, router, since }: StoryOptions): Story {
  const timeline = timelineOf(journals, listed)
  const [teller] = timeline.nodes
  const wanted = (incident: Incident) =>
    incident.at >= since && (router === undefined || teller === undefined || isAbout(incident, teller, router))
  const isWanted = (subject: Subject | undefined) =>
    router === undefined || subject === undefined || teller === undefined || namesOf(teller, subject).has(router)
  const steps = journals.flatMap(({ events, name, now }) =>
    clockSteps(events, now).map(({ at, byMs }) => `The clock of ${name} was set by ${time(byMs)} before ${at}`),
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
      .map(({ at, words }) => ({ since: at === undefined ? null : moment(at), words })),
    incidents: together(incidentsOf(timeline).filter(wanted)).map((group) => told(timeline, group)),
  }
}

function isAbout(incident: Incident, teller: Node, router: string): boolean {
  const { subject, steps } = incident
  if (subject !== undefined) return namesOf(teller, subject).has(router)
  // What a step is not about a router at all is about the node, and so about all of them.
  const meant = (name: string | undefined) =>
    name === router || (name !== undefined && groupOf(teller, name) === router)
  return steps.some(({ event }) => !('router' in event) || meant(event.router))
}

/** Names of the virtual router on the teller, and of its sync groups. */
function namesOf(teller: Node, subject: Subject): ReadonlySet<string> {
  const routers = routersOf(teller, subject)
  return new Set([...routers, ...[...routers].flatMap((router) => groupOf(teller, router) ?? [])])
}

const groupOf = ({ told }: Node, router: string): string | undefined => {
  const last = told.findLast(({ event }) => event.kind === 'transition' && event.router === router)?.event
  return last?.kind === 'transition' ? last.group : undefined
}

/** The first, what moved with it, and how often it happened again. */
type Group = {
  /** Of a sync group, the member that has the cause. */
  incident: Incident
  readonly routers: string[]
  readonly steps: Told[]
  until: number
  again: number
}

/** Of a node that goes every router moves. */
const TOGETHER_MS = 1_000
/** What goes on is written down so often. */
const AGAIN_MS = 12_000
/** Of what happens again and again. */
const MOST_STEPS = 10

/** Of these the second is no news when it comes so soon; each check and each host that has an address is. */
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

/** Of the members of a sync group, the one that tells most is the story. */
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

/** What its cause calls for; of two nodes of one group that are both Active, what their network calls for. */
function preventionOf(timeline: Timeline, { about, cause, move }: Incident): string | null {
  // A reload that moved nothing asks for nothing.
  if (cause === 'reloaded' && move === undefined) return null
  // Nor does an address for which the kernel had to look for a duplicate.
  if (cause === 'addressNotReady' && cameSoon(about)) return null
  const event = about?.event
  if (event?.kind === 'duplicateHolder' || event?.kind === 'peerHeard') {
    const peer = event.kind === 'peerHeard' ? event.peer : peerWith(timeline, event)
    const isOurs = peer !== undefined && nodeAt(timeline, peer) !== undefined
    if (isOurs || (peer !== undefined && standingOf(timeline, event.router, peer) === 'listed')) return SPLIT_BRAIN
  }
  return PREVENTION[cause] ?? null
}

function told(timeline: Timeline, { again, incident, routers, steps }: Group): ToldIncident {
  const nameOf = (address: string) => {
    const known = timeline.aliases.get(address) ?? address
    return nodeAt(timeline, known)?.name ?? known
  }
  const titleOf: Naming['titleOf'] = (router, address) => {
    const name = nameOf(address)
    return standingOf(timeline, router, name) === 'listed' ? `listed peer ${name}` : name
  }
  const stepOf = ({ at, event, node }: Told) => ({ at: moment(at), node: node.name, words: wordsOf(event, nameOf) })
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
