/**
 * Defines the explored worlds: three nodes with one virtual router each, and the messages on the wire between them, as
 * values. A world has no clock: its "now" is 0, and every moment in it counts from there. By this rule the same
 * situation an hour later is the same world. This file decides which parts of a LAN are modelled. actions.ts has the
 * possible events.
 *
 * Time is reduced to the order of deadlines. A message takes no time, but any other possible event may happen between
 * its sending and its arrival, in every order. A delayed message stays on the wire beyond the next moment at which a
 * deadline ends. By this rule all moments are sums of the protocol's own intervals, and the number of worlds stays
 * small.
 */
import type { Parameters } from '../../src/vrrp/parameters.ts'
import type { State } from '../../src/vrrp/state.ts'
import type { Millis } from '../../src/wire/units.ts'

/** Number of a node: its position in the list of nodes. */
export type Who = 0 | 1 | 2
export const EVERYBODY: readonly Who[] = [0, 1, 2]
export const NAMES = ['a', 'b', 'c'] as const

/**
 * Content of a message: an advertisement, an answer or an announcement. A kernel answers a Returning node, which asks
 * for the address. An announcement of the address shows a leaving node that another node has taken over.
 */
export type Said = { readonly kind: 'advertisement'; readonly priority: number } | { readonly kind: 'answer' | 'claim' }

export type Message = {
  readonly from: Who
  readonly to: Who
  readonly said: Said
  /**
   * True if the message is delayed, at least until the next moment. Later messages between the same two nodes wait
   * behind it, because a LAN keeps their order.
   */
  readonly held: boolean
}

/** A message that the kernel has received for a stopped process. */
export type Queued = { readonly from: Who; readonly said: Said; readonly receivedAt: Millis }

export type Node = {
  /** True if the daemon process of the node exists. */
  readonly running: boolean
  /** True if the process exists and is stopped: its kernel receives packets, but its timers do not fire. */
  readonly stalled: boolean
  readonly priority: number
  readonly state: State
  /** True if the node answers for the address, because its state machine has ordered that. */
  readonly holds: boolean
  readonly queue: readonly Queued[]
}

/**
 * Time in ms for which two nodes are Active together or both answer. `undisturbed`: they could receive each other all
 * that time.
 */
export type Overlap = { readonly for: number; readonly undisturbed: boolean }

export type World = {
  readonly nodes: readonly [Node, Node, Node]
  /**
   * Messages on the wire, sorted by sender and receiver. Messages of the same two nodes stand in the order of sending,
   * announcements of addresses (claims) last.
   */
  readonly wire: readonly Message[]
  /** Directions between two nodes (as numbers by placeOf) in which every message is lost until a repair. Sorted. */
  readonly cut: readonly number[]
  /** Overlaps of each pair of nodes (PAIRS): first those of two Actives, then those of two nodes that answer. */
  readonly reigns: readonly (Overlap | undefined)[]
  readonly answers: readonly (Overlap | undefined)[]
  /** Number of faults that may still happen. */
  readonly faults: number
}

export const PAIRS: readonly (readonly [Who, Who])[] = [
  [0, 1],
  [0, 2],
  [1, 2],
]

/**
 * Constant part of a world: what is configured. `parameters` returns the parameters of a node with the given priority.
 */
export type Setting = {
  readonly name: string
  /** Priorities of the nodes at the beginning. A change of priority leads away from them, and the next change back. */
  readonly priorities: readonly [number, number, number]
  readonly lowered: readonly [number, number, number]
  /** Longest advertisement interval of the three nodes, in ms. */
  readonly interval: number
  readonly preemptDelay: number
  readonly minHold: number
  /** Kinds of faults that may happen, besides those that every setting has. */
  readonly faults: readonly FaultKind[]
  /** True if the exploration begins without a running node, instead of with an Active and two Backups. */
  readonly boots: boolean
  /** True if the setting has too many worlds for a test that runs with each change. */
  readonly large: boolean
  /**
   * True if announcements either reach the nodes that they concern or are lost, without counting as a fault. Absent or
   * false: all announcements are lost.
   */
  readonly claims: boolean
  /** Number of waiting messages at which a stall ends. A stall without end would give another world for each second. */
  readonly longestQueue: number
  /**
   * Milliseconds for which two nodes that receive each other may be Active together (docs/explorer.md, "one exchange").
   */
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

/**
 * Longest time in intervals for which a message waits for a stalled node. After three times Active_Down_Interval
 * nothing new happens.
 */
export const LONGEST_WAIT = 12

/** Returns one number for each direction between two nodes, in the order of the wire. */
export const placeOf = ({ from, to }: Pick<Message, 'from' | 'to'>): number => 3 * from + to

export const replaced = ({ nodes: [a, b, c] }: World, who: Who, node: Node): World['nodes'] =>
  who === 0 ? [node, b, c] : who === 1 ? [a, node, c] : [a, b, node]

export const isAwake = ({ running, stalled }: Node): boolean => running && !stalled
