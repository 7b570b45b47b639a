/**
 * Finds problems that exist when the journals end, however long ago they began. A present problem is an engine that
 * does not run or answer, two Actives, another host with a VIP, a fault, a failed check or a refused reload. This file
 * decides which events begin and end each problem. PURE.
 */
import { probeReasonText } from '../events/check-reason-text.ts'
import type { EventOf } from '../events/event.ts'
import { faultText, reasonOfFailedReload } from './event-text.ts'
import {
  type Entry,
  isKind,
  type Node,
  nodeAt,
  peerListing,
  peerWith,
  type Subject,
  subjectOf,
  type Timeline,
} from './timeline.ts'

export type Present = {
  /** Virtual router with the problem; `undefined` if the problem concerns the whole node. */
  readonly subject: Subject | undefined
  readonly at: number | undefined
  readonly text: string
}

/** State of one node at the end of its journal. */
type State = {
  readonly node: Node
  readonly routers: Map<string, Entry<EventOf<'transition'>>>
  readonly faults: Map<string, Entry<EventOf<'faultChanged'>>>
  readonly duplicates: Map<string, Entry<EventOf<'duplicateHolder'>>>
  readonly checks: Map<string, Entry<EventOf<'checkChanged'>>>
  readonly actives: Map<string, Entry<EventOf<'twoActives'>>>
  reload: Entry<EventOf<'reloaded'>> | undefined
  ended: Entry | undefined
}

export function presentOf(timeline: Timeline): readonly Present[] {
  const states = timeline.nodes.map(stateOf)
  const running = states.filter(({ ended, node }) => ended === undefined && node.running !== false)
  const said = twoActives(running.filter(({ node }) => !node.stuck))
  const twice = [...said, ...heardActives(timeline, running, said)]
  return [
    ...states.flatMap(ofEngine),
    ...twice,
    ...running.flatMap((state) => ofDuplicates(timeline, state, twice)),
    ...running.flatMap(ofChecks),
    ...running.flatMap(ofFaults),
    ...running.flatMap(({ node, reload }) => {
      if (reload === undefined) return []
      return [
        about(reload, `${node.name}: ${reasonOfFailedReload(reload.event)}; the earlier configuration is in force`),
      ]
    }),
  ]
}

const about = ({ at }: Entry, text: string, subject?: Subject): Present => ({ at, text, subject })

function stateOf(node: Node): State {
  const state: State = {
    ...{ node, routers: new Map(), faults: new Map(), duplicates: new Map(), checks: new Map() },
    actives: new Map(),
    ...{ reload: undefined, ended: undefined },
  }
  for (const entry of node.entries) read(state, entry)
  return state
}

function read(state: State, entry: Entry): void {
  const { actives, checks, duplicates, faults, routers } = state
  if (isKind(entry, 'started')) {
    for (const each of [actives, checks, duplicates, faults, routers]) each.clear()
    state.reload = undefined
    state.ended = undefined
  }
  if (isKind(entry, 'stopped') || isKind(entry, 'crashed')) state.ended = entry
  if (isKind(entry, 'transition')) routers.set(entry.event.router, entry)
  if (isKind(entry, 'checkChanged')) keep(checks, entry.event.check, entry, entry.event.to === 'down')
  if (isKind(entry, 'faultChanged'))
    keep(faults, `${entry.event.router} ${entry.event.fault}`, entry, entry.event.present)
  if (isKind(entry, 'duplicateHolder'))
    keep(duplicates, `${entry.event.address} ${entry.event.mac}`, entry, entry.event.present)
  if (isKind(entry, 'twoActives')) {
    actives.delete(entry.event.router)
    keep(actives, entry.event.router, entry, entry.event.present)
  }
  if (isKind(entry, 'reloaded')) {
    state.reload = entry.event.ok ? undefined : entry
    for (const { change, router } of entry.event.changes ?? []) if (change === 'removed') forget(state, router)
  }
}

function keep<T>(map: Map<string, T>, key: string, value: T, present: boolean): void {
  if (!present) map.delete(key)
  else if (!map.has(key)) map.set(key, value)
}

function forget({ actives, duplicates, faults, routers }: State, router: string): void {
  routers.delete(router)
  actives.delete(router)
  for (const map of [duplicates, faults])
    for (const [key, { event }] of map) if (event.router === router) map.delete(key)
}

const activeOf = ({ routers }: State) => [...routers.values()].filter(({ event }) => event.to === 'Active')

const nameOf = ({ addresses, router }: EventOf<'transition'>): string => `${router} (${addresses.join(', ')})`

function ofEngine(state: State): readonly Present[] {
  const { ended, node } = state
  const held = activeOf(state).map(({ event }) => nameOf(event))
  const last = node.entries.at(-1)
  if (node.stuck) {
    const had = held.length === 0 ? '' : `; Active for ${held.join(', ')} when it last ran`
    const text = `${node.name}: the engine does not answer: its process is running but not responding (frozen or no CPU)${had}`
    return [{ at: undefined, subject: undefined, text }]
  }
  if (node.running !== false || last === undefined) return []
  if (ended?.event.kind === 'stopped') return [about(ended, `${node.name}: holdfast is stopped`)]
  const pid = node.entries.findLast((entry): entry is Entry<EventOf<'started'>> => isKind(entry, 'started'))?.event.pid
  const had = held.length === 0 ? '' : `; the engine was Active for ${held.join(', ')}`
  const text = `${node.name}: holdfast does not run: the engine${pid === undefined ? '' : ` (pid ${pid})`} crashed or was killed${had}; last event ${last.event.seq} at ${new Date(last.at).toISOString()}`
  return [{ at: undefined, subject: undefined, text }]
}

function twoActives(states: readonly State[]): readonly Present[] {
  const active = new Map<Subject, { readonly node: Node; readonly entry: Entry<EventOf<'transition'>> }[]>()
  for (const state of states)
    for (const entry of activeOf(state)) {
      const subject = subjectOf(entry.event)
      active.set(subject, [...(active.get(subject) ?? []), { node: state.node, entry }])
    }
  return [...active].flatMap(([subject, holders]) => {
    const last = holders.reduce((one, other) => (other.entry.at > one.entry.at ? other : one))
    if (holders.length < 2) return []
    const who = holders.map(({ node }) => node.name).join(' and ')
    return [about(last.entry, `${nameOf(last.entry.event)}: ${who} are both Active: ${UNHEARD}`, subject)]
  })
}

/**
 * Returns pairs of Actives whose advertisements a node receives, if at most one Active of the pair has a journal here.
 * If several nodes report a pair, the text has one line.
 */
function heardActives(timeline: Timeline, states: readonly State[], known: readonly Present[]): readonly Present[] {
  const subjects = new Set(known.map(({ subject }) => subject))
  return states.flatMap(({ actives, node, routers }) =>
    [...actives.values()].flatMap((entry) => {
      const own = routers.get(entry.event.router)
      if (own === undefined || subjects.has(subjectOf(own.event))) return []
      subjects.add(subjectOf(own.event))
      const peers = entry.event.actives.map(({ peer }) => peer)
      const who = peers.map((peer) => titleOf(timeline, entry.event.router, peer)).join(' and ')
      const observer = peers.some((peer) => node.addresses.has(peer)) ? '' : `, as ${node.name} hears`
      const text = `${nameOf(own.event)}: ${who} ${peers.length > 2 ? 'are all' : 'are both'} Active${observer}: ${DEAF}`
      return [{ ...about(entry, text, subjectOf(own.event)), at: entry.at - entry.event.forMs }]
    }),
  )
}

function titleOf(timeline: Timeline, router: string, peer: string): string {
  const node = nodeAt(timeline, peer)
  if (node !== undefined) return node.name
  const known = timeline.aliases.get(peer) ?? peer
  return peerListing(timeline, router, peer) === 'listed' ? `listed peer ${known}` : known
}

/** Text for two Actives that have advertised at the same time for longer than a failover lasts. */
const DEAF = "they do not receive each other's advertisements (firewall? switch?)"

const UNHEARD = "they do not receive each other's advertisements (firewall? switch?), or a failover is in progress"

function ofDuplicates(timeline: Timeline, state: State, twice: readonly Present[]): readonly Present[] {
  return [...state.duplicates.values()].flatMap((entry) => {
    const { address, mac, router } = entry.event
    const peer = peerWith(timeline, entry.event)
    const own = state.routers.get(router)
    const subject = own === undefined ? undefined : subjectOf(own.event)
    if (twice.some((each) => each.subject === subject)) return []
    const node = peer === undefined ? undefined : nodeAt(timeline, peer)
    const isListed = peer !== undefined && peerListing(timeline, router, peer) === 'listed'
    if (node === undefined && !isListed)
      return [
        about(entry, `${state.node.name}: another host, ${mac}, answers for ${address} (${router}) as well`, subject),
      ]
    const other = node?.name ?? `listed peer ${timeline.aliases.get(peer ?? '') ?? peer}`
    return [
      about(entry, `${router} (${address}): ${state.node.name} and ${other} both answer for it: ${UNHEARD}`, subject),
    ]
  })
}

function ofChecks(state: State): readonly Present[] {
  return [...state.checks.values()].map((entry) => {
    const { check, effects, reason } = entry.event
    const held = activeOf(state).filter(({ event }) => effects.some(({ router }) => router === event.router))
    const where = held.length === 0 ? '' : `, which is Active for ${held.map(({ event }) => nameOf(event)).join(', ')}`
    const why = reason === undefined ? '' : ` (${probeReasonText(reason)})`
    const [first] = held
    return about(
      entry,
      `health check ${check} is down on ${state.node.name}${where}${why}`,
      first && subjectOf(first.event),
    )
  })
}

/** Leaves out faults of sync group members that only follow another member. */
function ofFaults({ faults, node, routers }: State): readonly Present[] {
  return [...faults.values()].flatMap((entry) => {
    const own = routers.get(entry.event.router)
    if (entry.event.fault.startsWith('syncGroup:') || entry.event.fault.startsWith('healthcheckDown:')) return []
    return [
      about(entry, `${node.name}: ${faultText(entry.event)}`, own === undefined ? undefined : subjectOf(own.event)),
    ]
  })
}
