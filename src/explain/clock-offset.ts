/**
 * Estimates the offset between the wall clocks of two nodes, from VRRP packets that one node recorded as sent and the
 * other as received. Suitable packets are a first advertisement, priority 0, or a change of priority. A packet is
 * received a few milliseconds after it was sent, so each pair of records bounds the offset from one side. This file
 * decides which events make a pair, and the offset without pairs. PURE.
 */
import type { JournalEvent } from '../events/event.ts'
import type { Dated } from './dating.ts'

export type ClockOffset = {
  /** Clock of the node minus the clock of the reference node, in milliseconds. */
  readonly ms: number
  /** Largest possible error of `ms`, in milliseconds. Infinite without a measurement. */
  readonly errorMs: number
  readonly by: 'itself' | 'transmissions' | 'answer' | 'nothing'
  readonly pairs: number
}

/** Share of the largest cluster's pairs that a cluster near offset 0 needs to be preferred to the largest cluster. */
const GREAT = 0.5
/** Largest offset of clocks that are synchronized, in milliseconds. */
const SET_MS = 1_000
type Heap = { readonly start: number; readonly pairs: number }
/** Returns how far a cluster of differences that begins at `start` is from offset 0, in milliseconds. */
const distance = (start: number): number => Math.max(0, start, -start - LATE_MS)

/** Number of latest packets of each node from which the offset of its clock is computed. Older packets say little about the present offset. */
const MOST_SIGNALS = 200

/** Longest time in milliseconds from the sending of a packet to the record of its reception on another node. */
const LATE_MS = 100

type Signal = { readonly key: string; readonly at: number }

export type Clocks = {
  readonly reference: readonly Dated[]
  readonly own: readonly Dated[]
  readonly clock: { readonly offsetMs: number; readonly errorMs: number } | undefined
}

/**
 * Returns the offset of the clocks by packets if pairs exist, otherwise by the node's answer (`clock`), otherwise 0
 * with an infinite error.
 */
export function offsetOf({ reference, own, clock }: Clocks): ClockOffset {
  const near = (ms: number) => clock === undefined || Math.abs(ms - clock.offsetMs) <= clock.errorMs + LATE_MS
  // A packet that the node received gives the clock offset or a little more. A packet that the node sent gives the
  // offset or a little less.
  const atMost = differences(sentIn(reference), heardIn(own)).filter(near)
  const atLeast = differences(heardIn(reference), sentIn(own)).filter(near)
  const found = agreement(atLeast, atMost)
  if (found !== undefined) return { ...found, by: 'transmissions' }
  if (clock !== undefined) return { ms: clock.offsetMs, errorMs: clock.errorMs, by: 'answer', pairs: 0 }
  return { ms: 0, errorMs: Number.POSITIVE_INFINITY, by: 'nothing', pairs: 0 }
}

/** Returns the time differences of all pairs with the same key, in milliseconds: `own` minus `reference`. */
function differences(reference: readonly Signal[], own: readonly Signal[]): readonly number[] {
  const recent = own.slice(-MOST_SIGNALS)
  return reference
    .slice(-MOST_SIGNALS)
    .flatMap(({ key, at }) => recent.flatMap((other) => (other.key === key ? other.at - at : [])))
}

/**
 * Finds the cluster of time differences that shows the clock offset. Differences of right pairs lie close together;
 * those of wrong pairs are scattered. Events that repeat make clusters of wrong pairs, too. Most clocks are
 * synchronized, so a cluster near 0 needs only half as many pairs.
 */
function agreement(atLeast: readonly number[], atMost: readonly number[]) {
  const all = [...atLeast, ...atMost].sort((one, other) => one - other)
  const heaps: Heap[] = []
  for (let first = 0, end = 0; first < all.length; first++) {
    const start = all[first] ?? 0
    while (end < all.length && (all[end] ?? 0) <= start + LATE_MS) end++
    heaps.push({ start, pairs: end - first })
  }
  const greater = (one: Heap | undefined, other: Heap): Heap => {
    if (one === undefined || other.pairs > one.pairs) return other
    return other.pairs === one.pairs && distance(other.start) < distance(one.start) ? other : one
  }
  const greatest = heaps.reduce<Heap | undefined>(greater, undefined)
  const near = heaps.filter(({ start }) => distance(start) <= SET_MS).reduce<Heap | undefined>(greater, undefined)
  const best = near !== undefined && greatest !== undefined && near.pairs >= GREAT * greatest.pairs ? near : greatest
  if (best === undefined) return undefined
  const { pairs, start } = best
  const inside = (each: number) => each >= start && each <= start + LATE_MS
  const low = Math.max(...atLeast.filter(inside))
  const high = Math.min(...atMost.filter(inside))
  if (!Number.isFinite(low)) return { ms: high, errorMs: LATE_MS, pairs }
  if (!Number.isFinite(high)) return { ms: low, errorMs: LATE_MS, pairs }
  return { ms: (low + high) / 2, errorMs: Math.abs(high - low) / 2, pairs }
}

/** Returns the packets that a node recorded as sent. The key is `ADDRESS PRIORITY`. */
function sentIn(events: readonly Dated[]): readonly Signal[] {
  return events.flatMap(({ event, at }) => {
    const what = sent(event)
    // The packet is sent with the decision. The event is recorded later, after other work of the turn.
    const since = event.kind === 'transition' ? event.monotonicMs - event.decidedMs : 0
    return what === undefined ? [] : [{ key: what, at: at - since }]
  })
}

export function sent(event: JournalEvent): string | undefined {
  if (event.kind === 'priorityChanged' && event.active && event.self !== undefined) return `${event.self} ${event.to}`
  if (event.kind !== 'transition' || event.self === undefined) return undefined
  if (event.to === 'Active') return `${event.self} ${event.priority}`
  return event.from === 'Active' && (event.to === 'Leaving' || event.to === 'Initialize')
    ? `${event.self} 0`
    : undefined
}

function heardIn(events: readonly Dated[]): readonly Signal[] {
  return events.flatMap(({ event, at }) =>
    event.kind === 'peerHeard' ? [{ key: `${event.peer} ${event.priority}`, at }] : [],
  )
}
