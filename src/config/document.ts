/**
 * A YAML text as a plain value, and where each path of it is written. Syntax and repeated keys are judged here; what
 * the keys mean is not known. Nothing here throws, whatever the text: it comes from a person.
 */
import { type Document, isAlias, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument, visit } from 'yaml'
import { type Locate, type Path, type Position, type Problem, problemAt } from './problem.ts'

export type ReadDocument = {
  readonly value: unknown
  readonly locate: Locate
  readonly problems: readonly Problem[]
  /** False: the text is not YAML, and `value` says nothing. */
  readonly wellFormed: boolean
}

export function readDocument(text: string, file?: string): ReadDocument {
  const lines = new LineCounter()
  const position = (offset: number): Position => {
    const { line, col } = lines.linePos(offset)
    const place = { line: Math.max(1, line), column: Math.max(1, col) }
    return file === undefined ? place : { file, ...place }
  }
  // uniqueKeys off: repeated keys are found below, with both of their places.
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: false,
    logLevel: 'error',
  })
  const locate: Locate = (path, at = 'value') => position(offsetOf(document, path, at))
  const unreadable = (message: string, offset: number): Problem => ({
    ...position(offset),
    path: '',
    message: `Cannot read the text as YAML: ${firstLine(message)}`,
    severity: 'error',
  })

  const problems = [...document.errors, ...document.warnings].map(({ message, pos }) => unreadable(message, pos[0]))
  if (document.errors.length > 0) return { value: undefined, locate, problems, wellFormed: false }
  try {
    problems.push(...keyProblems(document, position))
    return { value: document.toJS(), locate, problems, wellFormed: true }
  } catch (error) {
    // Aliases without anchors or by the thousand, nesting without end: yaml reports those only now.
    const message = error instanceof Error ? error.message : String(error)
    return { value: undefined, locate, problems: [...problems, unreadable(message, 0)], wellFormed: false }
  }
}

const firstLine = (text: string): string => text.split('\n', 1)[0] ?? ''

/** What YAML allows and a configuration cannot mean: a key set twice, a key that is no word. */
function keyProblems(document: Document.Parsed, position: (offset: number) => Position): Problem[] {
  const problems: Problem[] = []
  visit(document, {
    Map(_, map) {
      const seen = new Map<string, Position>()
      for (const { key } of map.items) {
        if (!isScalar(key)) {
          const here = position(startOf(key) ?? startOf(map) ?? 0)
          problems.push(
            problemAt(() => here, [], 'error', 'Cannot use a list, a mapping or an alias as a key: a word wanted'),
          )
          continue
        }
        const name = String(key.value)
        const here = position(key.range?.[0] ?? 0)
        const before = seen.get(name)
        if (before === undefined) seen.set(name, here)
        else
          problems.push(
            problemAt(
              () => here,
              [name],
              'error',
              `Cannot set "${name}" twice: it is already set on line ${before.line}`,
            ),
          )
      }
    },
  })
  return problems
}

/** As far as the path exists; the rest is missing, and its place is what it is missing from. */
function offsetOf(document: Document.Parsed, path: Path, at: 'key' | 'value'): number {
  let node: unknown = document.contents
  let offset = startOf(node) ?? 0
  for (const [depth, step] of path.entries()) {
    if (isAlias(node)) node = node.resolve(document)
    if (isMap(node)) {
      // The last of repeated keys is the one whose value counts.
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
