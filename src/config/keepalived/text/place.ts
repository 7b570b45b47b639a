/**
 * A piece of text with the position of each character in the keepalived file. Comments are removed from lines, and
 * values replace names, but a problem must point at the right line in the file. This file knows nothing about the
 * meaning of the text.
 */
import type { Position } from '../../problem.ts'

export type Passage = {
  readonly text: string
  readonly file: string
  readonly line: number
  /**
   * Column of each character, counted from 1. A single number is the column of the first character; the other
   * characters follow directly.
   */
  readonly columns: number | readonly number[]
}

/** Returns the position of one character. */
export function placeIn({ file, line, columns }: Passage, index: number): Position {
  if (typeof columns === 'number') return { file, line, column: columns + index }
  return { file, line, column: columns[index] ?? columns.at(-1) ?? 1 }
}

const columnsOf = (passage: Passage): readonly number[] =>
  typeof passage.columns === 'number'
    ? Array.from(passage.text, (_, index) => placeIn(passage, index).column)
    : passage.columns

/** Returns a part of the text with the positions of its characters. */
export function slice(passage: Passage, start: number, end = passage.text.length): Passage {
  const { text, columns } = passage
  return {
    ...passage,
    text: text.slice(start, end),
    columns: typeof columns === 'number' ? columns + start : columns.slice(start, end),
  }
}

/**
 * Replaces the characters from `start` to `end` by `text`. The whole of `text` gets the position of the first replaced
 * character.
 */
export function splice(passage: Passage, start: number, end: number, text: string): Passage {
  const columns = columnsOf(passage)
  const column = columns[start] ?? columns.at(-1) ?? 1
  return {
    ...passage,
    text: passage.text.slice(0, start) + text + passage.text.slice(end),
    columns: [...columns.slice(0, start), ...Array.from(text, () => column), ...columns.slice(end)],
  }
}

/** Joins two pieces of one line. */
export const joined = (first: Passage, second: Passage): Passage => ({
  ...first,
  text: first.text + second.text,
  columns: [...columnsOf(first), ...columnsOf(second)],
})

/** Removes blanks and tabs at the end of a text. */
export function trimEnd(passage: Passage): Passage {
  const { length } = passage.text.replace(/[ \t]+$/, '')
  return length === passage.text.length ? passage : slice(passage, 0, length)
}

/** Removes blanks and tabs at the start of a text. */
export function trimStart(passage: Passage): Passage {
  const start = passage.text.length - passage.text.replace(/^[ \t]+/, '').length
  return start === 0 ? passage : slice(passage, start)
}
