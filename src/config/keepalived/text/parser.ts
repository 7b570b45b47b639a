/**
 * Converts lines to a tree of blocks. A brace outside of quotes is a word of its own, every block must be closed, and a
 * problem has the position of the brace. The meaning of a line, and whether the line may have a block, is decided in
 * import.ts.
 */
import { type Position, type Problem, problemAt } from '../../problem.ts'
import type { KeepalivedSource, SourceFile, Surroundings } from '../source.ts'
import { wordsOf } from './lexer.ts'
import { type Passage, placeIn, slice, trimEnd, trimStart } from './place.ts'
import { readFiles } from './reader.ts'

export type Word = { readonly text: string; readonly quoted: boolean; readonly at: Position }

export type Line = {
  /** Words of the line; a line has at least one word. */
  readonly words: readonly Word[]
  /** Lines of the block; `undefined` if the line has no braces. */
  readonly block?: readonly Line[]
  readonly at: Position
  /** Text of the whole line. Commands are split by other rules than keywords. */
  readonly text: string
}

export type ParsedFile = {
  readonly lines: readonly Line[]
  readonly problems: readonly Problem[]
  /** Paths of all files that were read, the main file first. */
  readonly files: readonly string[]
}

const DEEPEST = 32

/** Reads a keepalived file with its includes, and returns its lines as a tree of blocks. */
export function parseKeepalived(file: SourceFile, source: KeepalivedSource, surroundings: Surroundings): ParsedFile {
  const read = readFiles(file, source, surroundings)
  const { lines, problems } = treeOf(read.lines.flatMap(piecesOf))
  return { lines, problems: [...read.problems, ...problems], files: read.files }
}

type Piece = { readonly kind: 'line' | 'open' | 'close'; readonly passage: Passage }

/** Splits a line at its braces: `a b { c }` gives a line, a brace, a line, and a brace. */
function piecesOf(line: Passage): readonly Piece[] {
  const pieces: Piece[] = []
  let start = 0
  const text = (end: number) => {
    const passage = trimStart(trimEnd(slice(line, start, end)))
    if (passage.text.trim() !== '') pieces.push({ kind: 'line', passage })
  }
  let quoted = false
  for (let i = 0; i < line.text.length; i++) {
    const character = line.text[i]
    if (character === '"') quoted = !quoted
    if (quoted || (character !== '{' && character !== '}')) continue
    // A name without a definition: its braces are no block. The import reports that problem.
    const [undefinedName] = /^\{[A-Za-z_][A-Za-z0-9_]*\}/.exec(line.text.slice(i)) ?? []
    if (undefinedName !== undefined && line.text[i - 1] === '$') {
      i += undefinedName.length - 1
      continue
    }
    text(i)
    pieces.push({ kind: character === '{' ? 'open' : 'close', passage: slice(line, i, i + 1) })
    start = i + 1
  }
  text(line.text.length)
  return pieces
}

type Growing = { words: readonly Word[]; at: Position; text: string; block?: Growing[] }

function treeOf(pieces: readonly Piece[]): { readonly lines: readonly Line[]; readonly problems: readonly Problem[] } {
  const root: Growing[] = []
  const open: { readonly line: Growing; readonly brace: Position }[] = []
  const problems: Problem[] = []
  const refuse = (at: Position, message: string) => problems.push(problemAt(() => at, [], 'error', message))
  let lines = root
  let last: Growing | undefined
  for (const { kind, passage } of pieces) {
    const at = placeIn(passage, 0)
    if (kind === 'line') {
      last = { words: wordsIn(passage), at, text: passage.text }
      if (last.words.length > 0) lines.push(last)
    } else if (kind === 'open') {
      if (last === undefined || last.block !== undefined) {
        refuse(at, 'Cannot read this "{": no keyword before it')
        return { lines: [], problems }
      }
      if (open.length >= DEEPEST) {
        refuse(at, `Cannot read this block: more than ${DEEPEST} blocks are nested`)
        return { lines: [], problems }
      }
      open.push({ line: last, brace: at })
      lines = last.block = []
      last = undefined
    } else {
      if (open.pop() === undefined) {
        refuse(at, 'Cannot read this "}": no block is open')
        return { lines: [], problems }
      }
      lines = open.at(-1)?.line.block ?? root
      last = undefined
    }
  }
  for (const { line, brace } of open)
    refuse(brace, `Cannot find the "}" of this block: "${line.words[0]?.text ?? ''}" is not closed`)
  return { lines: root, problems }
}

const wordsIn = (passage: Passage): readonly Word[] =>
  wordsOf(passage.text).map(({ text, quoted, start }) => ({ text, quoted, at: placeIn(passage, start) }))
