/**
 * Converts recorded changes to spans of time in which no node answered, or more than one node answered. Pure. This file
 * does not decide which span is too long.
 */
import type { Moment } from './witness.ts'

export type Span = { readonly from: number; readonly to: number; readonly holders: readonly string[] }
export type Question = 'two' | 'none' | 'client'

export const WANTED: Readonly<Record<Question, (moment: Moment) => boolean>> = {
  two: ({ holders }) => holders.length > 1,
  none: ({ holders }) => holders.length === 0,
  client: ({ served }) => served === undefined,
}

/** Returns the spans of time. Neighbouring spans without a gap between them become one. */
export function spansOf(
  moments: readonly Moment[],
  from: number,
  to: number,
  wanted: (moment: Moment) => boolean,
): Span[] {
  const spans: Span[] = []
  moments.forEach((moment, i) => {
    const until = Math.min(to, moments[i + 1]?.at ?? to)
    if (!wanted(moment) || until <= from || moment.at >= to) return
    const begin = Math.max(moment.at, from)
    const last = spans.at(-1)
    if (last !== undefined && last.to >= begin) spans[spans.length - 1] = { ...last, to: until }
    else spans.push({ from: begin, to: until, holders: moment.holders })
  })
  return spans
}
