/**
 * The journals of several nodes on one time line, by the clock of the first: what a node was at a moment, what led to an
 * event, and whose an address is. Within a boot the monotonic clock dates events, so that a wall clock that is stepped
 * meanwhile reorders nothing. Decided here: how an event is dated, and what tells that a daemon has died. PURE.
 */
import type { EventKind, EventOf, JournalEvent } from '../events/event.ts'
import { type ClockOffset, offsetOf, sent } from './clock-offset.ts'
import { type Dated, dated, type Reading } from './dating.ts'

export type NodeJournal = {
  /** How the story calls it. */
  readonly name: string
  /** The oldest first. */
  readonly events: readonly JournalEvent[]
  /** Its daemon answers; undefined: nobody has asked it. */
  readonly running?: boolean | undefined
  /** Its wall clock minus the teller's, by an answer of it. */
  readonly clock?: { readonly offsetMs: number; readonly errorMs: number } | undefined
  /** Its process has taken the question, and has not answered it. */
  readonly stuck?: boolean | undefined
  /** Its clocks when it answered. */
  readonly now?: Reading | undefined
}

/** Addresses of the other nodes, for each virtual router that the teller's configuration has. */
export type ListedPeers = ReadonlyMap<string, ReadonlySet<string>>

/** An event of a node. `at`: milliseconds since the epoch by the teller's clock. */
export type Told<E extends JournalEvent = JournalEvent> = {
  readonly node: Node
  readonly event: E
  at: number
}

export type Node = {
  readonly name: string
  readonly running: boolean | undefined
  readonly stuck: boolean
  readonly offset: ClockOffset
  /** By time, which is by number as well. */
  readonly told: Told[]
  readonly byNumber: Map<number, Told>
  /** Of its routers. */
  readonly addresses: ReadonlySet<string>
}

/** What is one virtual router on all nodes. */
export type Subject = string

export type Timeline = {
  /** The first is the teller. */
  readonly nodes: readonly Node[]
  /** Of all nodes, by time. */
  readonly told: readonly Told[]
  readonly listed: ListedPeers
  /** Link-local addresses of other nodes, and the address by which people know the node. */
  readonly aliases: ReadonlyMap<string, string>
}

export function timelineOf(journals: readonly NodeJournal[], listed: ListedPeers = new Map()): Timeline {
  const [first] = journals
  const reference = first === undefined ? [] : dated(first.events, first.now)
  const nodes = journals.map((journal, i): Node => {
    const own = i === 0 ? reference : dated(journal.events, journal.now)
    const offset: ClockOffset =
      i === 0 ? { ms: 0, errorMs: 0, by: 'itself', pairs: 0 } : offsetOf({ reference, own, clock: journal.clock })
    const { name, running, stuck = false } = journal
    const node: Node = { name, running, stuck, offset, told: [], byNumber: new Map(), addresses: selvesOf(own) }
    for (const { event, at } of own) {
      const told = { node, event, at: at - offset.ms }
      node.told.push(told)
      node.byNumber.set(event.seq, told)
    }
    return node
  })
  for (const node of nodes)
    for (const told of node.told) if (told.event.kind === 'peerHeard') hearAfterSaying(nodes, told)
  const told = nodes.flatMap((node) => node.told).sort((one, other) => one.at - other.at)
  return { nodes, told, listed, aliases: aliasesOf(nodes) }
}

/** A sync group moves as one, so that its members follow addresses of one node when they make the same step. */
function aliasesOf(nodes: readonly Node[]): ReadonlyMap<string, string> {
  const aliases = new Map<string, string>()
  for (const { told } of nodes) {
    const steps = told.filter((each): each is Told<EventOf<'transition'>> => isKind(each, 'transition'))
    for (const { at, event } of steps) {
      const local = event.heard?.peer
      if (event.group === undefined || local?.startsWith('fe80:') !== true) continue
      const known = steps.find(
        (each) =>
          Math.abs(each.at - at) <= UNSURE_MS &&
          each.event.group === event.group &&
          each.event.to === event.to &&
          each.event.heard?.peer.startsWith('fe80:') === false,
      )?.event.heard?.peer
      if (known !== undefined) aliases.set(local, known)
    }
  }
  return aliases
}

/** Clocks are not known better than that: nothing is heard before it was said. */
function hearAfterSaying(nodes: readonly Node[], heard: Told): void {
  if (heard.event.kind !== 'peerHeard') return
  const { peer, priority } = heard.event
  const speaker = nodes.find((node) => node !== heard.node && node.addresses.has(peer))
  if (speaker === undefined) return
  const unsure = Math.min(UNSURE_MS, speaker.offset.errorMs + heard.node.offset.errorMs + HEARING_MS)
  const said = speaker.told.find(
    ({ at, event }) => at > heard.at && at <= heard.at + unsure && sent(event) === `${peer} ${priority}`,
  )
  if (said !== undefined) heard.at = said.at
}

const UNSURE_MS = 100
const HEARING_MS = 5

function selvesOf(events: readonly Dated[]): ReadonlySet<string> {
  return new Set(
    events.flatMap(({ event }) =>
      event.kind === 'transition' || event.kind === 'priorityChanged' ? (event.self ?? []) : [],
    ),
  )
}

export const isKind = <K extends EventKind>(told: Told, kind: K): told is Told<EventOf<K>> => told.event.kind === kind

/** When it had stopped to run, as it found out later. */
export function beganAway({ at, event }: Told): number | undefined {
  if (event.kind === 'absence') return at - (event.silentMs ?? 0)
  return event.kind === 'engineLate' ? at - event.lateMs : undefined
}

export const subjectOf = ({ vrid, addresses }: EventOf<'transition'>): Subject => `${vrid} ${[...addresses].sort()[0]}`

/** The router of this name is this one, as its own transitions say. */
export function routersOf({ told }: Node, subject: Subject): ReadonlySet<string> {
  return new Set(
    told.flatMap((each) => (isKind(each, 'transition') && subjectOf(each.event) === subject ? each.event.router : [])),
  )
}

export const nodeAt = ({ nodes }: Timeline, address: string): Node | undefined =>
  nodes.find(({ addresses }) => addresses.has(address))

/** `unknown`: the configuration lists no peers for that router, or could not be read. */
export function standingOf(
  { aliases, listed }: Timeline,
  router: string,
  address: string,
): 'listed' | 'unlisted' | 'unknown' {
  const known = aliases.get(address) ?? address
  if ([...listed.values()].some((peers) => peers.has(known))) return 'listed'
  return (listed.get(router)?.size ?? 0) === 0 ? 'unknown' : 'unlisted'
}

/** The node of the group, or else the router, that has this MAC: what it said for another virtual router counts, too. */
export function peerWith(timeline: Timeline, { mac, peer, router }: EventOf<'duplicateHolder'>): string | undefined {
  const said = timeline.told.flatMap(({ event }) =>
    event.kind === 'duplicateHolder' && event.mac === mac ? (event.peer ?? []) : [],
  )
  const isOurs = (address: string) =>
    nodeAt(timeline, address) !== undefined || standingOf(timeline, router, address) === 'listed'
  return said.find(isOurs) ?? peer ?? said[0]
}

/** What a router of the node was then; undefined: its journal does not go so far back, or the daemon did not run. */
export function stateAt(node: Node, subject: Subject, at: number): EventOf<'transition'>['to'] | undefined {
  let state: EventOf<'transition'>['to'] | undefined
  for (const each of node.told) {
    if (each.at > at) break
    if (each.event.kind === 'started' || isLastWord(each)) state = undefined
    else if (isKind(each, 'transition') && subjectOf(each.event) === subject) state = each.event.to
  }
  return state
}

const isLastWord = ({ event: { kind } }: Told): boolean => kind === 'stopped' || kind === 'crashed'

/** From the event back to where it began, on its own node. */
export function chainOf(told: Told): readonly Told[] {
  const { because } = told.event
  const cause = because === undefined || because >= told.event.seq ? undefined : told.node.byNumber.get(because)
  // Numbers begin anew where a file was lost.
  return cause === undefined || cause.at > told.at + UNSURE_MS ? [told] : [told, ...chainOf(cause)]
}

/**
 * The daemon of the node has died in that time, without having said so: behind its last word comes a new start, or nothing
 * although nobody is there. Undefined: that cannot be known.
 */
export function hadDied(node: Node, since: number, until: number): boolean | undefined {
  const { running, told } = node
  const began = told.findIndex(({ at, event }, i) => {
    const before = told[i - 1]
    return (
      event.kind === 'started' &&
      before?.event.kind !== 'stopped' &&
      before !== undefined &&
      before.at <= until &&
      at >= since
    )
  })
  if (began !== -1) return true
  const last = told.at(-1)
  if (last === undefined || last.event.kind === 'stopped') return undefined
  if (last.event.kind === 'crashed') return last.at >= since && last.at <= until
  if (last.at > until) return false
  return running === undefined ? undefined : !running
}
