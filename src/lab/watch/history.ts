/**
 * Who answered for which address when, in one form for every observer: the witness asks each millisecond, the kernels send news, the
 * simulator knows each change. Decides what one piece of time is. Refuses to know what was done, and what is too long. Pure.
 */

/** From (included) to (excluded). */
export type Span = { readonly from: number; readonly to: number }
/** With the names of the nodes that answered. */
export type Sight = Span & { readonly owners: readonly string[] }

/** Of one address. All times are milliseconds on one clock. */
export type History = {
  readonly address: string
  /** Who answered, without holes. */
  readonly owners: readonly Sight[]
  /** Times without an answer for a client that has no neighbor entry, by another question than that of `owners`. */
  readonly unanswered: readonly Span[]
  /** Times without an answer for a client that has a neighbor entry. */
  readonly stranded: readonly Span[]
  /** Times in which the observer itself did not run. */
  readonly blind: readonly Span[]
}

/** Milliseconds: a shorter change of the count is a late answer to the witness, not a change of who answers. */
export const NOISE = 3

export const lengthOf = ({ from, to }: Span): number => to - from
export const sumOf = (spans: readonly Span[]): number => spans.reduce((sum, span) => sum + lengthOf(span), 0)
export const longestOf = (spans: readonly Span[]): number => Math.max(0, ...spans.map(lengthOf))

/** From `at` on, these nodes answer. */
export type Change = { readonly at: number; readonly owners: readonly string[] }

/** Returns the sights between changes. The last one ends at `to`. */
export function sightsOf(changes: readonly Change[], to: number): Sight[] {
  return changes.map(({ at, owners }, i) => ({ from: at, to: Math.max(at, changes[i + 1]?.at ?? to), owners }))
}

/** Returns the sights within the window, cut at its ends. */
export function within<S extends Span>(sights: readonly S[], { from, to }: Span): S[] {
  return sights
    .filter((sight) => sight.to > from && sight.from < to)
    .map((sight) => ({ ...sight, from: Math.max(sight.from, from), to: Math.min(sight.to, to) }))
}

/** Returns the sights with a wanted number of owners. Two that are less than `joins` ms apart are one. */
export function spans(sights: readonly Sight[], wanted: (count: number) => boolean, joins = NOISE): Sight[] {
  return joined(
    sights.filter(({ owners }) => wanted(owners.length)),
    joins,
  )
}

/** Sights may overlap; the owners of those that become one are the owners of all of them. */
export function joined(sights: readonly Sight[], joins: number): Sight[] {
  const found: Sight[] = []
  for (const sight of [...sights].sort((one, other) => one.from - other.from)) {
    const last = found.at(-1)
    if (last !== undefined && (sight.from <= last.to || sight.from - last.to < joins)) {
      const owners = [...new Set([...last.owners, ...sight.owners])].sort()
      found[found.length - 1] = { from: last.from, to: Math.max(last.to, sight.to), owners }
    } else found.push(sight)
  }
  return found
}

/** Returns the sights of the window with a wanted number of owners, from one change to the next. */
export const spansIn = (changes: readonly Change[], wanted: (count: number) => boolean, window: Span): Sight[] =>
  spans(within(sightsOf(changes, window.to), window), wanted, 0)
