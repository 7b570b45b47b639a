/**
 * A stretch of text that still knows where each of its characters was written: comments are cut out of lines, values
 * are put in the place of names, and a problem must name what the operator sees all the same. This file does not know
 * what the text means.
 */
import type { Position } from '../../problem.ts'

export type Passage = {
  readonly text: string
  readonly file: string
  readonly line: number
  /** 1-based column of each character, or of the first one where the others follow it. */
  readonly columns: number | readonly number[]
}

export function placeIn({ file, line, columns }: Passage, index: number): Position {
  if (typeof columns === 'number') return { file, line, column: columns + index }
  return { file, line, column: columns[index] ?? columns.at(-1) ?? 1 }
}

const columnsOf = (passage: Passage): readonly number[] =>
  typeof passage.columns === 'number'
    ? Array.from(passage.text, (_, index) => placeIn(passage, index).column)
    : passage.columns

export function slice(passage: Passage, start: number, end = passage.text.length): Passage {
  const { text, columns } = passage
  return {
    ...passage,
    text: text.slice(start, end),
    columns: typeof columns === 'number' ? columns + start : columns.slice(start, end),
  }
}

/** `text` instead of the characters from `start` to `end`; all of it stands where the first of them stood. */
export function splice(passage: Passage, start: number, end: number, text: string): Passage {
  const columns = columnsOf(passage)
  const column = columns[start] ?? columns.at(-1) ?? 1
  return {
    ...passage,
    text: passage.text.slice(0, start) + text + passage.text.slice(end),
    columns: [...columns.slice(0, start), ...Array.from(text, () => column), ...columns.slice(end)],
  }
}

/** Of one line. */
export const joined = (first: Passage, second: Passage): Passage => ({
  ...first,
  text: first.text + second.text,
  columns: [...columnsOf(first), ...columnsOf(second)],
})

export function trimEnd(passage: Passage): Passage {
  const { length } = passage.text.replace(/[ \t]+$/, '')
  return length === passage.text.length ? passage : slice(passage, 0, length)
}

export function trimStart(passage: Passage): Passage {
  const start = passage.text.length - passage.text.replace(/^[ \t]+/, '').length
  return start === 0 ? passage : slice(passage, start)
}
