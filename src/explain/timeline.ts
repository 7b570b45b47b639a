/**
 * Puts the journals of several nodes on one time line. The node of the first journal is the reference node: all times
 * are by its clock. Within a boot the monotonic clock gives the order, so a step of the wall clock does not change the
 * order of events. This file decides the time of each event, and how the death of a daemon is recognized. PURE.
 */
import type { EventKind, EventOf, JournalEvent } from '../events/event.ts'
import { type ClockOffset, offsetOf, sent } from './clock-offset.ts'
import { type Dated, dated, type Reading } from './dating.ts'

export type NodeJournal = {
  /** Name of the node in the story. */
  readonly name: string
  /** Events of the node's journal. The oldest event is first. */
  readonly events: readonly JournalEvent[]
  /** True if the daemon of the node answers. `undefined` if the daemon was not asked. */
  readonly running?: boolean | undefined
  /** Wall clock of the node minus the wall clock of the reference node, as measured with the node's answer. */
  readonly clock?: { readonly offsetMs: number; readonly errorMs: number } | undefined
  /** True if the daemon accepted the connection but did not answer the request. */
  readonly stuck?: boolean | undefined
  /** Clock values of the node when its daemon answered. */
  readonly now?: Reading | undefined
}

/** Addresses of peers, for each virtual router in the configuration of the reference node. */
export type ListedPeers = ReadonlyMap<string, ReadonlySet<string>>

/** An event of a node. `at` is its time by the clock of the reference node, in milliseconds since the epoch. */
export type Entry<E extends JournalEvent = JournalEvent> = {
  readonly node: Node
  readonly event: E
  at: number
}

export type Node = {
  readonly name: string
  readonly running: boolean | undefined
  readonly stuck: boolean
  readonly offset: ClockOffset
  /** Events of the node, ordered by time. The event numbers have the same order. */
  readonly entries: Entry[]
  readonly byNumber: Map<number, Entry>
  /** Source addresses of the node's routers. */
  readonly addresses: ReadonlySet<string>
}

/** Identity of a virtual router that is the same on all nodes. */
export type Subject = string

export type Timeline = {
  /** All nodes with a journal. The first node of the list is the reference node. */
  readonly nodes: readonly Node[]
  /** Events of all nodes, ordered by time. */
  readonly entries: readonly Entry[]
  readonly listed: ListedPeers
  /** Link-local addresses of other nodes, mapped to the IPv4 or global address of the same node. */
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
    const node: Node = { name, running, stuck, offset, entries: [], byNumber: new Map(), addresses: selvesOf(own) }
    for (const { event, at } of own) {
      const entry = { node, event, at: at - offset.ms }
      node.entries.push(entry)
      node.byNumber.set(event.seq, entry)
    }
    return node
  })
  for (const node of nodes)
    for (const entry of node.entries) if (entry.event.kind === 'peerHeard') hearAfterSaying(nodes, entry)
  const entries = nodes.flatMap((node) => node.entries).sort((one, other) => one.at - other.at)
  return { nodes, entries, listed, aliases: aliasesOf(nodes) }
}

/**
 * Maps link-local addresses to other addresses of the same node. Members of a sync group make a transition together, so
 * the peers that their events name are one node.
 */
function aliasesOf(nodes: readonly Node[]): ReadonlyMap<string, string> {
  const aliases = new Map<string, string>()
  for (const { entries } of nodes) {
    const steps = entries.filter((each): each is Entry<EventOf<'transition'>> => isKind(each, 'transition'))
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

/**
 * If a packet seems to be received before it was sent, sets the time of the reception to the time of sending. An error
 * of this kind is within the accuracy of the clock offsets.
 */
function hearAfterSaying(nodes: readonly Node[], heard: Entry): void {
  if (heard.event.kind !== 'peerHeard') return
  const { peer, priority } = heard.event
  const speaker = nodes.find((node) => node !== heard.node && node.addresses.has(peer))
  if (speaker === undefined) return
  const unsure = Math.min(UNSURE_MS, speaker.offset.errorMs + heard.node.offset.errorMs + HEARING_MS)
  const said = speaker.entries.find(
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

export const isKind = <K extends EventKind>(entry: Entry, kind: K): entry is Entry<EventOf<K>> =>
  entry.event.kind === kind

/**
 * Returns the time at which the engine stopped running, in milliseconds since the epoch. `undefined` for events that
 * show no such time.
 */
export function beganAway({ at, event }: Entry): number | undefined {
  if (event.kind === 'absence') return at - (event.silentMs ?? 0)
  return event.kind === 'engineLate' ? at - event.lateMs : undefined
}

export const subjectOf = ({ vrid, addresses }: EventOf<'transition'>): Subject => `${vrid} ${[...addresses].sort()[0]}`

/** Returns the names of this virtual router on the node, by the node's own transitions. */
export function routersOf({ entries }: Node, subject: Subject): ReadonlySet<string> {
  return new Set(
    entries.flatMap((each) =>
      isKind(each, 'transition') && subjectOf(each.event) === subject ? each.event.router : [],
    ),
  )
}

export const nodeAt = ({ nodes }: Timeline, address: string): Node | undefined =>
  nodes.find(({ addresses }) => addresses.has(address))

/**
 * Tells whether the configuration lists the address as a peer. `unknown` if the configuration lists no peers for the
 * router, or could not be read.
 */
export function peerListing(
  { aliases, listed }: Timeline,
  router: string,
  address: string,
): 'listed' | 'unlisted' | 'unknown' {
  const known = aliases.get(address) ?? address
  if ([...listed.values()].some((peers) => peers.has(known))) return 'listed'
  return (listed.get(router)?.size ?? 0) === 0 ? 'unknown' : 'unlisted'
}

/**
 * Returns the address of the peer with this MAC; a node of the VRRP group is preferred. Reports of other virtual
 * routers count, too.
 */
export function peerWith(timeline: Timeline, { mac, peer, router }: EventOf<'duplicateHolder'>): string | undefined {
  const said = timeline.entries.flatMap(({ event }) =>
    event.kind === 'duplicateHolder' && event.mac === mac ? (event.peer ?? []) : [],
  )
  const isOurs = (address: string) =>
    nodeAt(timeline, address) !== undefined || peerListing(timeline, router, address) === 'listed'
  return said.find(isOurs) ?? peer ?? said[0]
}

/**
 * Returns the state of a router at a given time. `undefined` if the journal begins later, or the daemon did not run.
 */
export function stateAt(node: Node, subject: Subject, at: number): EventOf<'transition'>['to'] | undefined {
  let state: EventOf<'transition'>['to'] | undefined
  for (const each of node.entries) {
    if (each.at > at) break
    if (each.event.kind === 'started' || isLastWord(each)) state = undefined
    else if (isKind(each, 'transition') && subjectOf(each.event) === subject) state = each.event.to
  }
  return state
}

const isLastWord = ({ event: { kind } }: Entry): boolean => kind === 'stopped' || kind === 'crashed'

/** Returns the event and the events on the same node that caused it, back to the first cause. */
export function chainOf(entry: Entry): readonly Entry[] {
  const { because } = entry.event
  const cause = because === undefined || because >= entry.event.seq ? undefined : entry.node.byNumber.get(because)
  // The event numbers begin again if a journal file was lost.
  return cause === undefined || cause.at > entry.at + UNSURE_MS ? [entry] : [entry, ...chainOf(cause)]
}

/**
 * Tells whether the daemon died between `since` and `until` without a record of its end. The evidence is a start
 * without a stop before it, or a journal that ends although the daemon does not run. `undefined` if the journal does
 * not show it.
 */
export function hadDied(node: Node, since: number, until: number): boolean | undefined {
  const { running, entries } = node
  const began = entries.findIndex(({ at, event }, i) => {
    const before = entries[i - 1]
    return (
      event.kind === 'started' &&
      before?.event.kind !== 'stopped' &&
      before !== undefined &&
      before.at <= until &&
      at >= since
    )
  })
  if (began !== -1) return true
  const last = entries.at(-1)
  if (last === undefined || last.event.kind === 'stopped') return undefined
  if (last.event.kind === 'crashed') return last.at >= since && last.at <= until
  if (last.at > until) return false
  return running === undefined ? undefined : !running
}
