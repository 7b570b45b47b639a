/**
 * Problems that exist when the journals end, however long ago they began. Such a problem is an engine that does not run
 * or answer, two Actives, another host with a VIP, a fault, a failed check or a refused reload. Decided here: which
 * events begin and end each problem. PURE.
 */
import type { EventOf } from '../events/event.ts'
import {
  isKind,
  type Node,
  nodeAt,
  peerWith,
  type Subject,
  standingOf,
  subjectOf,
  type Timeline,
  type Told,
} from './timeline.ts'
import { reasonOfFailedReload, wordsOfFault } from './words.ts'

export type Present = {
  /** `undefined` if the problem concerns the whole node. */
  readonly subject: Subject | undefined
  readonly at: number | undefined
  readonly words: string
}

/** State of one node at the end of its journal. */
type State = {
  readonly node: Node
  readonly routers: Map<string, Told<EventOf<'transition'>>>
  readonly faults: Map<string, Told<EventOf<'faultChanged'>>>
  readonly duplicates: Map<string, Told<EventOf<'duplicateHolder'>>>
  readonly checks: Map<string, Told<EventOf<'checkChanged'>>>
  readonly actives: Map<string, Told<EventOf<'twoActives'>>>
  reload: Told<EventOf<'reloaded'>> | undefined
  ended: Told | undefined
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
        about(reload, `${node.name}: ${reasonOfFailedReload(reload.event)}; the configuration before it is in force`),
      ]
    }),
  ]
}

const about = ({ at }: Told, words: string, subject?: Subject): Present => ({ at, words, subject })

function stateOf(node: Node): State {
  const state: State = {
    ...{ node, routers: new Map(), faults: new Map(), duplicates: new Map(), checks: new Map() },
    actives: new Map(),
    ...{ reload: undefined, ended: undefined },
  }
  for (const told of node.told) read(state, told)
  return state
}

function read(state: State, told: Told): void {
  const { actives, checks, duplicates, faults, routers } = state
  if (isKind(told, 'started')) {
    for (const each of [actives, checks, duplicates, faults, routers]) each.clear()
    state.reload = undefined
    state.ended = undefined
  }
  if (isKind(told, 'stopped') || isKind(told, 'crashed')) state.ended = told
  if (isKind(told, 'transition')) routers.set(told.event.router, told)
  if (isKind(told, 'checkChanged')) keep(checks, told.event.check, told, told.event.to === 'down')
  if (isKind(told, 'faultChanged')) keep(faults, `${told.event.router} ${told.event.fault}`, told, told.event.present)
  if (isKind(told, 'duplicateHolder'))
    keep(duplicates, `${told.event.address} ${told.event.mac}`, told, told.event.present)
  if (isKind(told, 'twoActives')) {
    actives.delete(told.event.router)
    keep(actives, told.event.router, told, told.event.present)
  }
  if (isKind(told, 'reloaded')) {
    state.reload = told.event.ok ? undefined : told
    for (const { change, router } of told.event.changes ?? []) if (change === 'removed') forget(state, router)
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
  const last = node.told.at(-1)
  if (node.stuck) {
    const had = held.length === 0 ? '' : `; Active for ${held.join(', ')} when it last ran`
    const words = `${node.name}: the engine does not answer: its process is running but not responding (frozen or no CPU)${had}`
    return [{ at: undefined, subject: undefined, words }]
  }
  if (node.running !== false || last === undefined) return []
  if (ended?.event.kind === 'stopped') return [about(ended, `${node.name}: holdfast is stopped`)]
  const pid = node.told.findLast((told): told is Told<EventOf<'started'>> => isKind(told, 'started'))?.event.pid
  const had = held.length === 0 ? '' : `; it was Active for ${held.join(', ')}`
  const words = `${node.name}: holdfast does not run: the engine${pid === undefined ? '' : ` (pid ${pid})`} crashed or was killed${had}; last event ${last.event.seq} at ${new Date(last.at).toISOString()}`
  return [{ at: undefined, subject: undefined, words }]
}

function twoActives(states: readonly State[]): readonly Present[] {
  const active = new Map<Subject, { readonly node: Node; readonly told: Told<EventOf<'transition'>> }[]>()
  for (const state of states)
    for (const told of activeOf(state)) {
      const subject = subjectOf(told.event)
      active.set(subject, [...(active.get(subject) ?? []), { node: state.node, told }])
    }
  return [...active].flatMap(([subject, holders]) => {
    const last = holders.reduce((one, other) => (other.told.at > one.told.at ? other : one))
    if (holders.length < 2) return []
    const who = holders.map(({ node }) => node.name).join(' and ')
    return [about(last.told, `${nameOf(last.told.event)}: ${who} are both Active: ${UNHEARD}`, subject)]
  })
}

/**
 * Returns pairs of Actives that a node hears, where at most one of them has a journal here. Several witnesses give one
 * line.
 */
function heardActives(timeline: Timeline, states: readonly State[], known: readonly Present[]): readonly Present[] {
  const subjects = new Set(known.map(({ subject }) => subject))
  return states.flatMap(({ actives, node, routers }) =>
    [...actives.values()].flatMap((told) => {
      const own = routers.get(told.event.router)
      if (own === undefined || subjects.has(subjectOf(own.event))) return []
      subjects.add(subjectOf(own.event))
      const peers = told.event.actives.map(({ peer }) => peer)
      const who = peers.map((peer) => titleOf(timeline, told.event.router, peer)).join(' and ')
      const witness = peers.some((peer) => node.addresses.has(peer)) ? '' : `, as ${node.name} hears`
      const words = `${nameOf(own.event)}: ${who} ${peers.length > 2 ? 'are all' : 'are both'} Active${witness}: ${DEAF}`
      return [{ ...about(told, words, subjectOf(own.event)), at: told.at - told.event.forMs }]
    }),
  )
}

function titleOf(timeline: Timeline, router: string, peer: string): string {
  const node = nodeAt(timeline, peer)
  if (node !== undefined) return node.name
  const known = timeline.aliases.get(peer) ?? peer
  return standingOf(timeline, router, peer) === 'listed' ? `listed peer ${known}` : known
}

/** Text where both have advertised for longer than a failover lasts. */
const DEAF = "they do not receive each other's advertisements (firewall? switch?)"

const UNHEARD = "they do not receive each other's advertisements (firewall? switch?), or a failover is in progress"

function ofDuplicates(timeline: Timeline, state: State, twice: readonly Present[]): readonly Present[] {
  return [...state.duplicates.values()].flatMap((told) => {
    const { address, mac, router } = told.event
    const peer = peerWith(timeline, told.event)
    const own = state.routers.get(router)
    const subject = own === undefined ? undefined : subjectOf(own.event)
    if (twice.some((each) => each.subject === subject)) return []
    const node = peer === undefined ? undefined : nodeAt(timeline, peer)
    const isListed = peer !== undefined && standingOf(timeline, router, peer) === 'listed'
    if (node === undefined && !isListed)
      return [
        about(told, `${state.node.name}: another host, ${mac}, answers for ${address} (${router}) as well`, subject),
      ]
    const other = node?.name ?? `listed peer ${timeline.aliases.get(peer ?? '') ?? peer}`
    return [
      about(told, `${router} (${address}): ${state.node.name} and ${other} both answer for it: ${UNHEARD}`, subject),
    ]
  })
}

function ofChecks(state: State): readonly Present[] {
  return [...state.checks.values()].map((told) => {
    const { check, effects, reason } = told.event
    const held = activeOf(state).filter(({ event }) => effects.some(({ router }) => router === event.router))
    const where = held.length === 0 ? '' : `, which is Active for ${held.map(({ event }) => nameOf(event)).join(', ')}`
    const why = reason === undefined ? '' : ` (${reason})`
    const [first] = held
    return about(
      told,
      `health check ${check} is down on ${state.node.name}${where}${why}`,
      first && subjectOf(first.event),
    )
  })
}

/** Skips faults of sync group members that only follow another member. */
function ofFaults({ faults, node, routers }: State): readonly Present[] {
  return [...faults.values()].flatMap((told) => {
    const own = routers.get(told.event.router)
    if (told.event.fault.startsWith('syncGroup:') || told.event.fault.startsWith('healthcheckDown:')) return []
    return [
      about(told, `${node.name}: ${wordsOfFault(told.event)}`, own === undefined ? undefined : subjectOf(own.event)),
    ]
  })
}
