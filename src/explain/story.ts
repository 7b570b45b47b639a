/**
 * The story as a value, which is what --json prints (version 1: keys are added, never changed; docs/explain.md). Decided
 * here: which incidents it is about, what counts as one because it happened together, and what is said about clocks and
 * journals. PURE.
 */
import { type Cause, PREVENTION } from './cause.ts'
import { clockSteps } from './dating.ts'
import { headline } from './headline.ts'
import { type Incident, incidentsOf } from './incident.ts'
import { type Node, type NodeJournal, nodeAt, routersOf, type Timeline, type Told, timelineOf } from './timeline.ts'
import { time, wordsOf } from './words.ts'

export type StoryOptions = {
  /** Of the teller; undefined: all of them. */
  readonly router?: string | undefined
  /** Milliseconds since the epoch. */
  readonly since: number
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
  readonly phases: readonly { readonly what: string; readonly ms: number }[]
  /** The node whose journal has the first step. */
  readonly noticedBy: string
  readonly prevention: string | null
}

/** The teller's journal comes first. */
export function storyOf(journals: readonly NodeJournal[], { problems, router, since }: StoryOptions): Story {
  const timeline = timelineOf(journals)
  const [teller] = timeline.nodes
  const wanted = (incident: Incident) =>
    incident.at >= since && (router === undefined || teller === undefined || isAbout(incident, teller, router))
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
    incidents: together(incidentsOf(timeline).filter(wanted)).map((group) => told(timeline, group)),
  }
}

function isAbout(incident: Incident, teller: Node, router: string): boolean {
  const { subject, steps } = incident
  if (subject !== undefined) return routersOf(teller, subject).has(router)
  // What a step is not about a router at all is about the node, and so about all of them.
  return steps.some(({ event }) => !('router' in event) || event.router === router)
}

/** The first, what moved with it, and how often it happened again. */
type Group = {
  readonly incident: Incident
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
  ...(['reloaded', 'reloadFailed', 'carrierLost', 'interfaceGone', 'networkMoved', 'fault'] as const),
])

function together(incidents: readonly Incident[]): readonly Group[] {
  const groups: Group[] = []
  for (const incident of incidents) {
    const { takeover } = incident
    const before = groups.findLast((group) => belongs(incident, group))
    if (before === undefined) {
      const routers = takeover === undefined ? [] : [takeover.event.router]
      groups.push({ incident, routers, steps: [...incident.steps], until: incident.at, again: 0 })
    } else if (takeover !== undefined && !before.routers.includes(takeover.event.router)) {
      before.routers.push(takeover.event.router)
    } else {
      before.until = incident.at
      before.again++
      if (takeover === undefined)
        before.steps.push(...incident.steps.filter((step) => !before.steps.includes(step)).slice(0, room(before)))
    }
  }
  return groups
}

const room = ({ steps }: Group): number => Math.max(0, MOST_STEPS - steps.length)

function belongs({ at, cause, node, takeover }: Incident, { incident, routers, until }: Group): boolean {
  if (incident.cause !== cause || incident.node !== node) return false
  if (takeover === undefined) return incident.takeover === undefined && REPEATED.has(cause) && at - until <= AGAIN_MS
  if (incident.takeover === undefined || incident.takeover.peer !== takeover.peer) return false
  return at - (routers.includes(takeover.event.router) ? until : incident.at) <= TOGETHER_MS
}

function told(timeline: Timeline, { again, incident, routers, steps }: Group): ToldIncident {
  const nameOf = (address: string) => nodeAt(timeline, address)?.name ?? address
  const stepOf = ({ at, event, node }: Told) => ({ at: moment(at), node: node.name, words: wordsOf(event, nameOf) })
  return {
    at: moment(incident.at),
    cause: incident.cause,
    routers,
    headline: headline(incident, routers, nameOf),
    again,
    steps: steps.map(stepOf),
    phases: incident.phases.map(({ what, ms }) => ({ what, ms: rounded(ms) })),
    noticedBy: incident.steps[0]?.node.name ?? incident.node.name,
    // A reload that moved nothing asks for nothing.
    prevention:
      incident.cause === 'reloaded' && incident.takeover === undefined ? null : (PREVENTION[incident.cause] ?? null),
  }
}

const moment = (at: number): string => new Date(at).toISOString()
const rounded = (ms: number): number => Math.round(ms * 10) / 10
