/**
 * By how much the wall clocks of two nodes differ, out of what one has sent and the other has heard: a first
 * advertisement, a release, a change of priority. A packet takes well under a millisecond and its hearing a few more on a
 * busy machine, so that each pair bounds the difference from one side. Decided here: what makes a pair, and what stands
 * when there is none. PURE.
 */
import type { JournalEvent } from '../events/event.ts'
import type { Dated } from './dating.ts'

export type ClockOffset = {
  /** The node's clock minus the teller's. */
  readonly ms: number
  /** How much it may be off. */
  readonly errorMs: number
  readonly by: 'itself' | 'transmissions' | 'answer' | 'nothing'
  readonly pairs: number
}

const GREAT = 0.5
/** Clocks that are set differ by less. */
const SET_MS = 1_000
type Heap = { readonly start: number; readonly pairs: number }
/** From equal clocks, of a heap that begins there. */
const distance = (start: number): number => Math.max(0, start, -start - LATE_MS)

/** Of one kind and side; what was long ago says nothing about now. */
const MOST_SIGNALS = 200

/** Hearing may be late by so much and still be of that transmission. */
const LATE_MS = 100

type Signal = { readonly key: string; readonly at: number }

export type Clocks = {
  readonly reference: readonly Dated[]
  readonly own: readonly Dated[]
  readonly clock: { readonly offsetMs: number; readonly errorMs: number } | undefined
}

export function offsetOf({ reference, own, clock }: Clocks): ClockOffset {
  const near = (ms: number) => clock === undefined || Math.abs(ms - clock.offsetMs) <= clock.errorMs + LATE_MS
  // Heard here and sent there: the difference is the offset or a little less; the other way round a little more.
  const atMost = differences(sentIn(reference), heardIn(own)).filter(near)
  const atLeast = differences(heardIn(reference), sentIn(own)).filter(near)
  const found = agreement(atLeast, atMost)
  if (found !== undefined) return { ...found, by: 'transmissions' }
  if (clock !== undefined) return { ms: clock.offsetMs, errorMs: clock.errorMs, by: 'answer', pairs: 0 }
  return { ms: 0, errorMs: Number.POSITIVE_INFINITY, by: 'nothing', pairs: 0 }
}

/** The node's moment minus the teller's, of each that could belong together. */
function differences(reference: readonly Signal[], own: readonly Signal[]): readonly number[] {
  const recent = own.slice(-MOST_SIGNALS)
  return reference
    .slice(-MOST_SIGNALS)
    .flatMap(({ key, at }) => recent.flatMap((other) => (other.key === key ? other.at - at : [])))
}

/**
 * Wrong pairs are anywhere, right ones beside each other. What happens again and again makes heaps of wrong ones, too:
 * one where the clocks are nearly equal needs half as many pairs as the greatest, because most clocks are set.
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

/** What others can hear: `ADDRESS WHAT`. */
function sentIn(events: readonly Dated[]): readonly Signal[] {
  return events.flatMap(({ event, at }) => {
    const what = sent(event)
    // Sent with the decision; what else has to be done comes before it is written down.
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
