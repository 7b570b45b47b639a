/**
 * Names for text: `$NAME=...`, `$NAME` and `${NAME}`, and those that keepalived brings along. Decided here: what may
 * stand behind a name, and that a replacement comes to an end. This file does not know lines, blocks or keywords.
 */

import { directoryOf, type Surroundings } from '../source.ts'
import { type Passage, placeIn, slice, splice } from './place.ts'

export type Definition =
  | { readonly kind: 'text'; readonly text: string }
  /** Its lines are read where the name stands, and keep the places where they were written. */
  | { readonly kind: 'lines'; readonly lines: readonly Passage[] }
  | { readonly kind: 'computed'; readonly compute: (file: string, parameters: readonly number[]) => string }

export type Definitions = Map<string, Definition>

const text = (value: string): Definition => ({ kind: 'text', text: value })

export function predefined({ configId, random }: Surroundings): Definitions {
  return new Map<string, Definition>([
    ['_PWD', { kind: 'computed', compute: directoryOf }],
    ['_INSTANCE', text(configId)],
    ['_RANDOM', { kind: 'computed', compute: (_, bounds) => between(bounds, random()) }],
    // They would begin a comment if they were written.
    ['_HASH', text('#')],
    ['_BANG', text('!')],
  ])
}

function between([least = 0, most = 32_767]: readonly number[], chance: number): string {
  return String(least + Math.floor(chance * Math.max(1, most - least + 1)))
}

/** Undefined: this line defines nothing. */
export function definitionIn(line: Passage): { readonly name: string; readonly value: Passage } | undefined {
  const [, name] = /^\$([A-Za-z_][A-Za-z0-9_]*)=/.exec(line.text) ?? []
  if (name === undefined) return undefined
  const behind = slice(line, name.length + 2)
  return { name, value: slice(behind, behind.text.length - behind.text.trimStart().length) }
}

export type Replaced = {
  readonly line: Passage
  /** What a definition of several lines adds behind this one. */
  readonly rest: readonly Passage[]
  /** Set: it does not come to an end, or grows beyond all measure. */
  readonly endless: string | undefined
}

const LONGEST_LINE = 8192
const MOST_REPLACEMENTS = 1000
/** A name in braces may be followed by anything, a bare one only by white space, a comma or a parenthesis. */
const NAME = /\$(?:\{([A-Za-z_][A-Za-z0-9_]*)((?: +\d+)*)\}|([A-Za-z_][A-Za-z0-9_]*)(?=[ \t,)]|$))/g

/** Names that are not defined stay as they are: a script may mean a variable of its own. */
export function replaceNames(written: Passage, definitions: Definitions): Replaced {
  let line = written
  let rest: readonly Passage[] = []
  let from = 0
  for (let count = 0; ; ) {
    NAME.lastIndex = from
    const found = NAME.exec(line.text)
    if (found === null) return { line, rest, endless: undefined }
    const name = found[1] ?? found[3] ?? ''
    const definition = definitions.get(name)
    const [start, end] = [found.index, found.index + found[0].length]
    const usable = definition?.kind !== 'lines' || end === line.text.length
    if (definition === undefined || !usable) {
      from = start + 1
      continue
    }
    // A value is read again from its beginning: it may hold names itself.
    from = start
    if (definition.kind === 'lines') {
      const [first, ...others] = definition.lines
      rest = others
      line = splice(line, start, end, first?.text ?? '')
    } else {
      const parameters = (found[2] ?? '').trim().split(/ +/).filter(Boolean).map(Number)
      const value = definition.kind === 'text' ? definition.text : definition.compute(line.file, parameters)
      line = splice(line, start, end, value)
    }
    count++
    if (count > MOST_REPLACEMENTS || line.text.length > LONGEST_LINE) return { line, rest, endless: name }
    // A sequence is run before the names behind it are replaced.
    if (/^[ \t]*~/.test(line.text)) return { line, rest, endless: undefined }
  }
}

/** Brackets of a sequence: the text in them, and what follows. */
export function bracketed(
  line: Passage,
  start: number,
): { readonly inner: string; readonly rest: Passage } | undefined {
  const open = line.text.indexOf('(', start)
  const close = line.text.indexOf(')', open)
  if (open < 0 || close < 0 || line.text.slice(start, open).trim() !== '') return undefined
  const rest = slice(line, close + 1)
  return { inner: line.text.slice(open + 1, close), rest: slice(rest, rest.text.length - rest.text.trimStart().length) }
}

export const placeOf = (line: Passage) => placeIn(line, 0)
