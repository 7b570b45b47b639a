/**
 * Reads a YAML text as a plain value, and finds the position of each path in the text. Syntax errors and repeated keys
 * are reported. This file knows nothing about the meaning of a key. No function throws, whatever the text is.
 */

import { type Document, isAlias, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument } from 'yaml'
import { messageOf } from '../../base/message-of.ts'
import { type Locate, type Path, type Position, type Problem, problemAt } from '../problem.ts'
import { type Culprit, culpritIn, holdsNoBreakSpace, NO_BREAK_SPACE_FOUND } from './indentation.ts'
import { isKey } from './schema-problem.ts'

export type ReadDocument = {
  readonly value: unknown
  readonly locate: Locate
  readonly problems: readonly Problem[]
  /** True if the text of the configuration is YAML. If the text is not YAML, `value` has no meaning. */
  readonly wellFormed: boolean
}

/** Reads a YAML text. `file` is the file name that its problems show. */
export function readDocument(text: string, file?: string): ReadDocument {
  const lines = linesOf(text)
  const position = (offset: number): Position => {
    const { line, col } = lines.linePos(offset)
    const place = { line: Math.max(1, line), column: Math.max(1, col) }
    return file === undefined ? place : { file, ...place }
  }
  const unreadable = (message: string, offset: number): Problem =>
    problemAt(() => position(offset), [], 'error', `Cannot read the text as YAML: ${complaint(message)}`)
  const unusable = ({ offset, message }: Culprit): Problem => problemAt(() => position(offset), [], 'error', message)
  try {
    const document = parseDocument(text, {
      prettyErrors: false,
      logLevel: 'error',
      // The YAML parser does not report repeated keys, because keyProblems() reports them with both positions.
      uniqueKeys: false,
      // YAML tags such as !!binary are not resolved, because they make values that no schema expects.
      resolveKnownTags: false,
    })
    const locate: Locate = (path, at = 'value') => position(offsetOf(document, path, at))
    const problems = [...document.errors, ...document.warnings].map(({ message, pos }) => unreadable(message, pos[0]))
    if (document.errors.length > 0) {
      const culprit = culpritIn(text, isKey)
      const told = culprit === undefined ? oneALine(problems) : [unusable(culprit)]
      return { value: undefined, locate, problems: told, wellFormed: false }
    }
    problems.push(...keyProblems(document.contents, [], position))
    const spaces = problems.filter(({ message }) => message === NO_BREAK_SPACE_FOUND)
    if (spaces.length > 0) return { value: undefined, locate, problems: spaces, wellFormed: false }
    return { value: document.toJS(), locate, problems, wellFormed: true }
  } catch (error) {
    // The yaml library throws an error for very deep nesting, and for thousands of aliases.
    const message = messageOf(error)
    return { value: undefined, locate: () => position(0), problems: [unreadable(message, 0)], wellFormed: false }
  }
}

/** Returns the first problem of each line, because the other problems of a line are consequences of the first. */
function oneALine(problems: readonly Problem[]): Problem[] {
  const lines = new Map<number, Problem>()
  for (const problem of problems) if (!lines.has(problem.line)) lines.set(problem.line, problem)
  return [...lines.values()]
}

/**
 * Returns the line numbers of a text. The line counter of the YAML parser is not used, because it does not count lines
 * that the parser skips after an error.
 */
function linesOf(text: string): LineCounter {
  const lines = new LineCounter()
  lines.addNewLine(0)
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines.addNewLine(at + 1)
  return lines
}

/**
 * Returns the parser's message without the text that it quotes. An alias, a tag or an escape may be a part of a
 * password. The position tells where to look.
 */
function complaint(message: string): string {
  const [first = ''] = message.split('\n', 1)
  return first
    .replace(/: .*$/, '')
    .replace(/^(Invalid escape sequence|Verbatim tags aren't resolved).*$/, '$1')
    .replace(/^The .* tag has no suffix$/, 'A tag has no suffix')
}

/**
 * Returns the problems of keys that YAML allows and a configuration does not: a key that is set twice, and a key that
 * is not a word.
 */
function keyProblems(node: unknown, path: Path, position: (offset: number) => Position): Problem[] {
  if (isSeq(node))
    return node.items.flatMap((item, index) => (isScalar(item) ? [] : keyProblems(item, [...path, index], position)))
  if (!isMap(node)) return []
  const seen = new Map<string, number>()
  return node.items.flatMap(({ key, value }) => {
    const offset = startOf(key) ?? startOf(node) ?? 0
    const refuse = (at: Path, message: string) => problemAt(() => position(offset), at, 'error', message)
    if (!isScalar(key)) return [refuse(path, 'key: cannot use a list, a mapping or an alias, expected a word')]
    const name = String(key.value)
    if (holdsNoBreakSpace(name)) return [refuse(path, NO_BREAK_SPACE_FOUND)]
    // Most YAML values are neither lists nor mappings, and a text may have thousands of values.
    const inner = isScalar(value) ? [] : keyProblems(value, [...path, name], position)
    const before = seen.get(name)
    if (before !== undefined)
      return [
        refuse(
          [...path, name],
          `${name}: cannot set this key twice (first on line ${position(before).line}), expected it once`,
        ),
        ...inner,
      ]
    seen.set(name, offset)
    return inner
  })
}

/**
 * Returns the offset of a path in the text. If a part of the path is missing, returns the offset of the last part that
 * exists.
 */
function offsetOf(document: Document.Parsed, path: Path, at: 'key' | 'value'): number {
  let node: unknown = document.contents
  let offset = startOf(node) ?? 0
  for (const [depth, step] of path.entries()) {
    if (isAlias(node)) node = node.resolve(document)
    if (isMap(node)) {
      // If a key is repeated, the value of the last one counts.
      const pair = node.items.findLast(({ key }) => isScalar(key) && String(key.value) === String(step))
      if (pair === undefined) return offset
      const nameOnly = (at === 'key' && depth === path.length - 1) || startOf(pair.value) === undefined
      offset = startOf(nameOnly ? pair.key : pair.value) ?? offset
      node = pair.value
    } else if (isSeq(node) && typeof step === 'number') {
      node = node.items[step]
      offset = startOf(node) ?? offset
    } else return offset
  }
  return offset
}

const startOf = (node: unknown): number | undefined => (isNode(node) ? node.range?.[0] : undefined)
