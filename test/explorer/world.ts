/**
 * The explored worlds: three nodes with one virtual router each, and the messages on the wire between them, as values.
 * A world has no clock: its "now" is 0, and every moment in it counts from there. So the same situation an hour later
 * is the same world. This file decides which parts of a LAN are modelled. The possible events are in actions.ts.
 *
 * Time is abstracted to the order of deadlines. A message takes no time, but any other possible event may happen
 * between its sending and its arrival, in every order. A delayed message outlasts the next moment at which a deadline
 * ends. So all moments are sums of the protocol's own intervals, and the number of worlds stays small.
 */
import type { Parameters } from '../../src/vrrp/parameters.ts'
import type { State } from '../../src/vrrp/state.ts'
import type { Millis } from '../../src/wire/units.ts'

/** Position in the list of nodes. */
export type Who = 0 | 1 | 2
export const EVERYBODY: readonly Who[] = [0, 1, 2]
export const NAMES = ['a', 'b', 'c'] as const

/**
 * An advertisement; a kernel's answer to the question for the address, which a Returning node asks; or an
 * announcement of the address. The announcement shows a leaving node that there is a successor.
 */
export type Said = { readonly kind: 'advertisement'; readonly priority: number } | { readonly kind: 'answer' | 'claim' }

export type Message = {
  readonly from: Who
  readonly to: Who
  readonly said: Said
  /**
   * Delayed, at least until the next moment. Messages behind it of the same pair wait as well (a LAN keeps their
   * order).
   */
  readonly held: boolean
}

/** A message that the kernel of a stopped process has received. */
export type Queued = { readonly from: Who; readonly said: Said; readonly receivedAt: Millis }

export type Node = {
  /** The process exists. */
  readonly running: boolean
  /** The process exists and does not run: its kernel receives, its timers do not fire. */
  readonly stalled: boolean
  readonly priority: number
  readonly state: State
  /** The node answers for the address, as its effects have ordered. */
  readonly holds: boolean
  readonly queue: readonly Queued[]
}

/** Duration in which two nodes do the same, and whether they could receive each other for all of it. */
export type Overlap = { readonly for: number; readonly undisturbed: boolean }

export type World = {
  readonly nodes: readonly [Node, Node, Node]
  /** Messages sorted by pair; of one pair in the order of sending, and claims behind all else. */
  readonly wire: readonly Message[]
  /** Pairs that lose every message in one direction until they are repaired, as positions (placeOf). Sorted. */
  readonly cut: readonly number[]
  /** Overlaps by pair (PAIRS): both are Active; both answer. */
  readonly reigns: readonly (Overlap | undefined)[]
  readonly answers: readonly (Overlap | undefined)[]
  /** Number of faults that are left. */
  readonly faults: number
}

export const PAIRS: readonly (readonly [Who, Who])[] = [
  [0, 1],
  [0, 2],
  [1, 2],
]

/** Constant part: the nodes. `parameters` of a node with that priority. */
export type Setting = {
  readonly name: string
  /** Priorities at the beginning. A change of priority leaves them and returns to them. */
  readonly priorities: readonly [number, number, number]
  readonly lowered: readonly [number, number, number]
  /** ms, the longest of the three. */
  readonly interval: number
  readonly preemptDelay: number
  readonly minHold: number
  /** Possible faults, besides those that every setting has. */
  readonly faults: readonly FaultKind[]
  /** Exploration begins without a running node, instead of with an Active and two Backups. */
  readonly boots: boolean
  /** The setting has too many worlds for the tests of each run. */
  readonly large: boolean
  /**
   * Announcements reach the nodes that they concern, or are lost without counting as a fault. By default all are
   * lost.
   */
  readonly claims: boolean
  /** Number of waiting messages that ends a stall. An endless stall would be a world for each second. */
  readonly longestQueue: number
  /** ms in which two nodes may be Active that receive each other (docs/explorer.md, "one exchange"). */
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
 * Longest wait of a message for a stalled node, in intervals. After three times Active_Down_Interval nothing new
 * happens.
 */
export const LONGEST_WAIT = 12

/** Returns one number for each direction of each pair, in the order of the wire. */
export const placeOf = ({ from, to }: Pick<Message, 'from' | 'to'>): number => 3 * from + to

export const replaced = ({ nodes: [a, b, c] }: World, who: Who, node: Node): World['nodes'] =>
  who === 0 ? [node, b, c] : who === 1 ? [a, node, c] : [a, b, node]

export const isAwake = ({ running, stalled }: Node): boolean => running && !stalled
