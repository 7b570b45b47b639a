/**
 * Reads overlaps and outages out of a history. Decides what one overlap is (two nodes answer) and what one outage is
 * (no node answers, or a client gets no answer). This file does not know faults and bounds. Pure.
 */
import { type History, joined, type Sight, type Span, spans, within } from '../../src/lab/watch/history.ts'

/** `two`: more than one node answers. `none`: no node answers. `client`: a client with a neighbor entry gets no answer. */
export type Question = 'two' | 'none' | 'client'
export const QUESTIONS = ['two', 'none', 'client'] as const

/** A single overlap or outage. `parts`: the spans of it that each way of observing saw. */
export type Outage = Sight & { readonly question: Question; readonly parts: readonly Sight[] }

const unheld = (found: readonly Span[]): Sight[] => found.map((span) => ({ ...span, holders: [] }))

/** Returns each piece of time in the window in which the answer to the question is yes. */
export function outagesIn(history: History, question: Question, window: Span, joins: number): Outage[] {
  const holders = within(history.holders, window)
  const seen: Readonly<Record<Question, () => readonly Sight[][]>> = {
    two: () => [spans(holders, (count) => count > 1, joins)],
    // Two observations of the same time, by different probes. A span that both ways saw is one outage.
    none: () => [
      spans(holders, (count) => count === 0, joins),
      joined(unheld(within(history.unanswered, window)), joins),
    ],
    client: () => [joined(unheld(within(history.stranded, window)), joins)],
  }
  const parts = seen[question]().flat()
  return joined(parts, joins).map((whole) => ({
    ...whole,
    question,
    parts: parts.filter((part) => part.to > whole.from && part.from < whole.to),
  }))
}

/** Returns the node that answered alone at a time. `undefined`: no node or several did. */
export function holderAt(sights: readonly Sight[], at: number): string | undefined {
  const holders = sights.find((sight) => sight.to > at)?.holders ?? []
  return holders.length === 1 ? holders[0] : undefined
}

/** Returns how many milliseconds of the span lie in none of the windows. */
export function outside({ from, to }: Span, windows: readonly Span[]): number {
  let rest = 0
  let now = from
  for (const window of [...windows].sort((one, other) => one.from - other.from)) {
    if (window.to <= now || window.from >= to) continue
    rest += Math.max(0, window.from - now)
    now = Math.max(now, window.to)
  }
  return rest + Math.max(0, to - now)
}
