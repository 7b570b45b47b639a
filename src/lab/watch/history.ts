/**
 * Describes which nodes answered for an address at which time, in one form for all observers. An observer is a witness
 * that asks each millisecond, the notifications of kernels, or the simulator, which knows each change. This file
 * decides where one span of time ends and the next begins. Pure. This file does not know the faults, nor which span is
 * too long.
 */

/** A span of time in ms, from `from` (included) to `to` (excluded). */
export type Span = { readonly from: number; readonly to: number }
/** A span of time with the names of the nodes that answered for the address in it. */
export type Sight = Span & { readonly holders: readonly string[] }

/** History of one virtual address. All times are milliseconds on one clock. */
export type History = {
  readonly address: string
  /** Nodes that answered for the address; the spans have no time between them. */
  readonly holders: readonly Sight[]
  /**
   * Spans in which a client without a neighbour entry got no answer. The client asks in another way than the observer
   * of `holders`.
   */
  readonly unanswered: readonly Span[]
  /** Spans in which a client with a neighbour entry got no answer. */
  readonly stranded: readonly Span[]
  /** Spans in which the observer itself did not run. */
  readonly blind: readonly Span[]
}

/**
 * Milliseconds. If the number of answering nodes changes for a shorter time, that is a late answer to the witness and
 * not a change of holder.
 */
export const NOISE = 3

export const lengthOf = ({ from, to }: Span): number => to - from
export const sumOf = (spans: readonly Span[]): number => spans.reduce((sum, span) => sum + lengthOf(span), 0)
export const longestOf = (spans: readonly Span[]): number => Math.max(0, ...spans.map(lengthOf))

/** Names of the nodes that answer for the address from the time `at` on. */
export type Change = { readonly at: number; readonly holders: readonly string[] }

/** Returns the span between each change and the next, with the answering nodes. The last returned span ends at `to`. */
export function sightsOf(changes: readonly Change[], to: number): Sight[] {
  return changes.map(({ at, holders }, i) => ({ from: at, to: Math.max(at, changes[i + 1]?.at ?? to), holders }))
}

/** Returns the spans that overlap the window, cut at the window's ends. */
export function within<S extends Span>(sights: readonly S[], { from, to }: Span): S[] {
  return sights
    .filter((sight) => sight.to > from && sight.from < to)
    .map((sight) => ({ ...sight, from: Math.max(sight.from, from), to: Math.min(sight.to, to) }))
}

/**
 * Returns the spans in which the number of answering nodes is a wanted one. Neighbouring spans that are less than
 * `joins` ms apart become one.
 */
export function spans(sights: readonly Sight[], wanted: (count: number) => boolean, joins = NOISE): Sight[] {
  return joined(
    sights.filter(({ holders }) => wanted(holders.length)),
    joins,
  )
}

/** Joins spans that overlap or are less than `joins` ms apart. A joined span has the nodes of all its parts. */
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

/**
 * Returns the spans of the window in which the number of answering nodes is a wanted one, from one change to the next.
 */
export const spansIn = (changes: readonly Change[], wanted: (count: number) => boolean, window: Span): Sight[] =>
  spans(within(sightsOf(changes, window.to), window), wanted, 0)
