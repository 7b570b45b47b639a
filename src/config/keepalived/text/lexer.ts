/**
 * Splits text into lines and words as keepalived does: comments from `#` or `!`, quotes, escapes. A quote ends on its
 * line, and a NUL character is an error. This file knows nothing about keywords, variables and blocks.
 */
import { type Problem, problemAt } from '../../problem.ts'
import { joined, type Passage, placeIn, slice, splice, trimEnd, trimStart } from './place.ts'

export type LexedText = { readonly lines: readonly Passage[]; readonly problems: readonly Problem[] }

/**
 * Returns the lines of a text without comments and surrounding white space. Blank lines stay, because they end a
 * definition of several lines.
 */
export function linesOf(file: string, text: string): LexedText {
  const problems: Problem[] = []
  const lines = text.replace(/^\uFEFF/, '').split('\n')
  return {
    lines: lines.map((written, index) => {
      const raw: Passage = { text: written.replace(/\r+$/, ''), file, line: index + 1, columns: 1 }
      const zero = raw.text.indexOf('\0')
      if (zero < 0) return withoutComment(raw, problems)
      const message = 'Cannot read the file: it contains a NUL character, so it is not a text file'
      problems.push(problemAt(() => placeIn(raw, zero), [], 'error', message))
      return slice(raw, 0, 0)
    }),
    problems,
  }
}

function withoutComment(raw: Passage, problems: Problem[]): Passage {
  let line = trimStart(raw)
  let quote = -1
  let comment = -1
  let continued = false
  for (let i = 0; i < line.text.length; i++) {
    const character = line.text[i]
    if (character === '"' && comment < 0) quote = quote < 0 ? i : -1
    else if (character === '\\') {
      const next = line.text[i + 1]
      // A backslash at the end of a line counts even in a comment, because each line of a definition may have a
      // comment.
      if (next === undefined) continued = true
      else if (quote < 0 && comment < 0 && (next === '#' || next === '!')) line = splice(line, i, i + 1, '')
      else i++
    } else if (quote < 0 && comment < 0 && (character === '!' || character === '#')) comment = i
  }
  if (quote >= 0) {
    const message = 'Cannot read the line: this quote is not closed on the same line'
    const at = placeIn(line, quote)
    problems.push(problemAt(() => at, [], 'error', message))
  }
  if (!continued) return trimEnd(comment < 0 ? line : slice(line, 0, comment))
  const end = line.text.length - 1
  const content = trimEnd(slice(line, 0, comment < 0 ? end : comment))
  return joined(content, slice(line, end, end + 1))
}

export type Word = {
  readonly text: string
  readonly quoted: boolean
  /** Index in the line of the word's first character, from 0. */
  readonly start: number
}

const SPACE = ' \t\f\n\r\v'

/** Splits a line into words. A quoted string is one word, and there are no escapes. */
export function wordsOf(text: string): readonly Word[] {
  const words: Word[] = []
  for (let i = 0; i < text.length; ) {
    const character = text[i] ?? ''
    if (SPACE.includes(character)) {
      i++
      continue
    }
    const quoted = character === '"'
    const start = quoted ? i + 1 : i
    let end = start
    while (end < text.length && (quoted ? text[end] !== '"' : !`${SPACE}"`.includes(text[end] ?? ''))) end++
    words.push({ text: text.slice(start, end), quoted, start })
    i = quoted ? end + 1 : end
  }
  return words
}

const ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  E: '\x1b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
}

/**
 * Splits a command into words, with both kinds of quotes, which may begin inside a word, and escapes. Returns
 * `undefined` if a quote is not closed, or the text ends with a backslash.
 */
export function commandWordsOf(text: string): readonly string[] | undefined {
  const words: string[] = []
  for (let i = 0; ; ) {
    while (i < text.length && SPACE.includes(text[i] ?? '')) i++
    if (i >= text.length) return words
    let word = ''
    let quote = ''
    for (; i < text.length; ) {
      const character = text[i] ?? ''
      if (character === '\\') {
        const escaped = unescaped(text, i + 1)
        if (escaped === undefined) return undefined
        word += escaped.text
        i = escaped.end
      } else if (quote !== '') {
        if (character === quote) quote = ''
        else word += character
        i++
      } else if (character === '"' || character === "'") {
        quote = character
        i++
      } else if (SPACE.includes(character)) break
      else {
        word += character
        i++
      }
    }
    if (quote !== '') return undefined
    words.push(word)
  }
}

function unescaped(text: string, start: number): { readonly text: string; readonly end: number } | undefined {
  const rest = text.slice(start)
  const [octal] = /^[0-7]{1,3}/.exec(rest) ?? []
  const [, hex] = /^x([0-9a-fA-F]+)/.exec(rest) ?? []
  const [, control] = /^c([\s\S])/.exec(rest) ?? []
  // Returns the character of an escape such as \x41. Only the lowest eight bits of the number count, as in C.
  const octet = (value: number) => String.fromCharCode(value & 0xff)
  if (hex !== undefined) return { text: octet(Number.parseInt(hex.slice(-2), 16)), end: start + 1 + hex.length }
  if (control !== undefined) return { text: octet(control.charCodeAt(0) & 0x1f), end: start + 2 }
  if (octal !== undefined) return { text: octet(Number.parseInt(octal, 8)), end: start + octal.length }
  const [character] = rest
  return character === undefined ? undefined : { text: ESCAPES[character] ?? character, end: start + 1 }
}
