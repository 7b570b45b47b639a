/**
 * Definitions in a keepalived file: `$NAME=...`, `$NAME` and `${NAME}`, and the names that keepalived defines. This
 * file decides which characters may follow a name, and how many replacements a line may need. This file knows nothing
 * about blocks and keywords.
 */

import { directoryOf, type Surroundings } from '../source.ts'
import { type Passage, placeIn, slice, splice } from './place.ts'

export type Definition =
  | { readonly kind: 'text'; readonly text: string }
  /** Lines that replace the name of a definition. The positions of such lines are those of the definition. */
  | { readonly kind: 'lines'; readonly lines: readonly Passage[] }
  | { readonly kind: 'computed'; readonly compute: (file: string, parameters: readonly number[]) => string }

export type Definitions = Map<string, Definition>

const text = (value: string): Definition => ({ kind: 'text', text: value })

/** Returns the names that keepalived defines itself. */
export function predefined({ configId, random }: Surroundings): Definitions {
  return new Map<string, Definition>([
    ['_PWD', { kind: 'computed', compute: directoryOf }],
    ['_INSTANCE', text(configId)],
    ['_RANDOM', { kind: 'computed', compute: (_, bounds) => between(bounds, random()) }],
    // In a keepalived file, the characters # and ! themselves would start a comment.
    ['_HASH', text('#')],
    ['_BANG', text('!')],
  ])
}

function between([least = 0, most = 32_767]: readonly number[], chance: number): string {
  return String(least + Math.floor(chance * Math.max(1, most - least + 1)))
}

/** Returns the name and value of a definition, or `undefined` if the line defines nothing. */
export function definitionIn(line: Passage): { readonly name: string; readonly value: Passage } | undefined {
  const [, name] = /^\$([A-Za-z_][A-Za-z0-9_]*)=/.exec(line.text) ?? []
  if (name === undefined) return undefined
  const behind = slice(line, name.length + 2)
  return { name, value: slice(behind, behind.text.length - behind.text.trimStart().length) }
}

export type Replaced = {
  readonly line: Passage
  /** Second and further lines of the value, if the line ends with a name (`$NAME`) whose value has several lines. */
  readonly rest: readonly Passage[]
  /** Name whose replacement does not end or makes the line too long; `undefined` if every name was replaced. */
  readonly endless: string | undefined
}

const LONGEST_LINE = 8192
const MOST_REPLACEMENTS = 1000
/**
 * A name in braces may be followed by any character; a name without braces only by white space, a comma or a
 * parenthesis.
 */
const NAME = /\$(?:\{([A-Za-z_][A-Za-z0-9_]*)((?: +\d+)*)\}|([A-Za-z_][A-Za-z0-9_]*)(?=[ \t,)]|$))/g

/**
 * Replaces the names of definitions in a line. A name without a definition stays as it is, because a script may have
 * variables of its own.
 */
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
    // The inserted value is scanned again from its start, because a value may contain names of definitions.
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
    // A sequence (`~SEQ`, `~LST`) is expanded before the names after it in the same line are replaced.
    if (/^[ \t]*~/.test(line.text)) return { line, rest, endless: undefined }
  }
}

/** Returns the text in the brackets of a sequence, and the rest of the line; `undefined` if there are no brackets. */
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
