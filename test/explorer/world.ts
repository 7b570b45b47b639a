/**
 * What is explored: three nodes with one virtual router each, and what is on the wire between them, as values. A world
 * has no clock: its "now" is 0, and every moment in it counts from there, so that the same situation an hour later is the
 * same world. Decided here: what of a LAN is looked at. What can happen to it is in actions.ts.
 *
 * Time is abstracted to the order of deadlines. A message takes no time, but between its sending and its arrival anything
 * else that is possible at that moment may happen, in every order; one that is delayed outlasts the next moment at which
 * a deadline ends. So all moments are sums of the protocol's own intervals, and the worlds stay few.
 */
import type { Parameters } from '../../src/vrrp/parameters.ts'
import type { State } from '../../src/vrrp/state.ts'
import type { Millis } from '../../src/wire/units.ts'

/** Position in the list of nodes. */
export type Who = 0 | 1 | 2
export const EVERYBODY: readonly Who[] = [0, 1, 2]
export const NAMES = ['a', 'b', 'c'] as const

/**
 * An advertisement; the answer of a kernel to the question who has the address (Returning asks it); an announcement of the
 * address, which tells whoever goes that there is another one.
 */
export type Said = { readonly kind: 'advertisement'; readonly priority: number } | { readonly kind: 'answer' | 'claim' }

export type Message = {
  readonly from: Who
  readonly to: Who
  readonly said: Said
  /** Delayed: not before the next moment. Those behind it of the same pair wait as well (a LAN keeps their order). */
  readonly held: boolean
}

/** What the kernel of a stopped process has received for it. */
export type Queued = { readonly from: Who; readonly said: Said; readonly receivedAt: Millis }

export type Node = {
  /** A process is there. */
  readonly running: boolean
  /** It is, and does not run: its kernel receives, its timers do not fire. */
  readonly stalled: boolean
  readonly priority: number
  readonly state: State
  /** Answers for the address, as its effects have ordered. */
  readonly holds: boolean
  readonly queue: readonly Queued[]
}

/** How long two do the same thing, and whether anything kept them from hearing each other since they began. */
export type Overlap = { readonly for: number; readonly undisturbed: boolean }

export type World = {
  readonly nodes: readonly [Node, Node, Node]
  /** Sorted by pair; of one pair in the order of sending, and claims behind all else. */
  readonly wire: readonly Message[]
  /** Pairs that lose everything from the one to the other until they are mended: placeOf. Sorted. */
  readonly cut: readonly number[]
  /** By pair (PAIRS): both are Active; both answer. */
  readonly reigns: readonly (Overlap | undefined)[]
  readonly answers: readonly (Overlap | undefined)[]
  /** How many more may be done. */
  readonly faults: number
}

export const PAIRS: readonly (readonly [Who, Who])[] = [
  [0, 1],
  [0, 2],
  [1, 2],
]

/** What does not change: who they are. `parameters` of a node with that priority. */
export type Setting = {
  readonly name: string
  /** What they begin with, and where a change of priority leads to and back from. */
  readonly priorities: readonly [number, number, number]
  readonly lowered: readonly [number, number, number]
  /** ms, the longest of the three. */
  readonly interval: number
  readonly preemptDelay: number
  readonly minHold: number
  /** Which faults are dealt, besides those that every setting has. */
  readonly faults: readonly FaultKind[]
  /** Exploration begins with nobody running instead of with an Active and two that follow it. */
  readonly boots: boolean
  /** Too many worlds for the tests that run each time. */
  readonly large: boolean
  /** Announcements are heard by those whom they concern, or lost at no price. Without: all are lost. */
  readonly claims: boolean
  /** A stall ends when so many messages wait. For ever would be a world for each second. */
  readonly longestQueue: number
  /** ms: how long two may be Active that hear each other (docs/explorer.md, "one exchange"). */
  readonly exchange: number
  parameters(who: Who, priority: number): Parameters
}

export type FaultKind =
  | 'lose'
  | 'delay'
  | 'cut'
  | 'wait'
  | 'stall'
  | 'crash'
  | 'die'
  | 'priority'
  | 'yield'
  | 'shutdown'

/** Intervals, of what waits for one that is stalled: beyond three times Active_Down_Interval all has happened that will. */
export const LONGEST_WAIT = 12

/** One number for each direction of each pair, in the order of the wire. */
export const placeOf = ({ from, to }: Pick<Message, 'from' | 'to'>): number => 3 * from + to

export const replaced = ({ nodes: [a, b, c] }: World, who: Who, node: Node): World['nodes'] =>
  who === 0 ? [node, b, c] : who === 1 ? [a, node, c] : [a, b, node]

export const isAwake = ({ running, stalled }: Node): boolean => running && !stalled
