/**
 * Which nodes answered for an address at which time, in one form for all observers: the witness asks each millisecond,
 * kernels send notifications, and the simulator knows each change. This file decides what one span of time is. This
 * file does not know the faults, nor which span is too long. Pure.
 */

/** Times from (included) to (excluded). */
export type Span = { readonly from: number; readonly to: number }
/** A span with the names of the nodes that answered. */
export type Sight = Span & { readonly holders: readonly string[] }

/** History of one address. All times are milliseconds on one clock. */
export type History = {
  readonly address: string
  /** Nodes that answered, as one list of times without holes. */
  readonly holders: readonly Sight[]
  /** Times without an answer for a client without a neighbour entry, by another question than that of `holders`. */
  readonly unanswered: readonly Span[]
  /** Times without an answer for a client with a neighbour entry. */
  readonly stranded: readonly Span[]
  /** Periods in which the observer itself did not run. */
  readonly blind: readonly Span[]
}

/** Milliseconds. A shorter change of the number of nodes is a late answer to the witness, not a change of holder. */
export const NOISE = 3

export const lengthOf = ({ from, to }: Span): number => to - from
export const sumOf = (spans: readonly Span[]): number => spans.reduce((sum, span) => sum + lengthOf(span), 0)
export const longestOf = (spans: readonly Span[]): number => Math.max(0, ...spans.map(lengthOf))

/** Nodes that answer from `at` on. */
export type Change = { readonly at: number; readonly holders: readonly string[] }

/** Returns the sights between changes. The last one ends at `to`. */
export function sightsOf(changes: readonly Change[], to: number): Sight[] {
  return changes.map(({ at, holders }, i) => ({ from: at, to: Math.max(at, changes[i + 1]?.at ?? to), holders }))
}

/** Returns the sights within the window, cut at its ends. */
export function within<S extends Span>(sights: readonly S[], { from, to }: Span): S[] {
  return sights
    .filter((sight) => sight.to > from && sight.from < to)
    .map((sight) => ({ ...sight, from: Math.max(sight.from, from), to: Math.min(sight.to, to) }))
}

/** Returns the sights with a wanted number of nodes. Two that are less than `joins` ms apart become one. */
export function spans(sights: readonly Sight[], wanted: (count: number) => boolean, joins = NOISE): Sight[] {
  return joined(
    sights.filter(({ holders }) => wanted(holders.length)),
    joins,
  )
}

/** Joins sights, which may overlap. A joined sight has the nodes of all its parts. */
export function joined(sights: readonly Sight[], joins: number): Sight[] {
  const found: Sight[] = []
  for (const sight of [...sights].sort((one, other) => one.from - other.from)) {
    const last = found.at(-1)
    if (last !== undefined && (sight.from <= last.to || sight.from - last.to < joins)) {
      const holders = [...new Set([...last.holders, ...sight.holders])].sort()
      found[found.length - 1] = { from: last.from, to: Math.max(last.to, sight.to), holders }
    } else found.push(sight)
  }
  return found
}

/** Returns the sights of the window with a wanted number of nodes, from one change to the next. */
export const spansIn = (changes: readonly Change[], wanted: (count: number) => boolean, window: Span): Sight[] =>
  spans(within(sightsOf(changes, window.to), window), wanted, 0)
