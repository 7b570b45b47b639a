/**
 * Reads files into the lines of the configuration. Conditions (`@name`), definitions, sequences and includes are
 * resolved, and the returned lines have the positions of the original text. The number of includes and replacements is
 * limited. A named file that is missing is a problem, and so is a loop of includes. This file knows nothing about
 * blocks, and keywords other than `include`.
 */
import { type Problem, problemAt } from '../../problem.ts'
import { directoryOf, type KeepalivedSource, type SourceFile, type Surroundings } from '../source.ts'
import { bracketed, type Definition, type Definitions, definitionIn, predefined, replaceNames } from './definition.ts'
import { linesOf, type Word, wordsOf } from './lexer.ts'
import { type Passage, placeIn, slice, trimEnd } from './place.ts'
import { listRounds, type Round, sequenceRounds } from './sequence.ts'

export type ReadFiles = {
  readonly lines: readonly Passage[]
  readonly problems: readonly Problem[]
  readonly files: readonly string[]
}

/**
 * End of the warning about an include that matches no file. keepalived logs this case as well, and keepalived -t
 * accepts the file.
 */
export const MATCHES_NOTHING = 'matches no file: nothing is included'

const MOST_LINES = 100_000
const MOST_CHARACTERS = 4 * 1024 * 1024
const DEEPEST = 32
const MOST_PROBLEMS = 100

/** Reads a keepalived file and all files that it includes. */
export function readFiles(first: SourceFile, source: KeepalivedSource, surroundings: Surroundings): ReadFiles {
  const reader = new Reader(source, surroundings)
  reader.read(first, [])
  return { lines: reader.lines, problems: reader.problems, files: reader.files }
}

/** Reads lines in order. The reader has a state, because a definition takes effect from its line on. */
class Reader {
  readonly lines: Passage[] = []
  readonly problems: Problem[] = []
  readonly files: string[] = []
  readonly #source: KeepalivedSource
  readonly #surroundings: Surroundings
  readonly #definitions: Definitions
  #characters = 0
  #full = false
  /** True after `include_check wildcard_match`: a wildcard without a match is a problem. */
  #wildcardMustMatch = false

  constructor(source: KeepalivedSource, surroundings: Surroundings) {
    this.#source = source
    this.#surroundings = surroundings
    this.#definitions = predefined(surroundings)
  }

  read({ file, text }: SourceFile, within: readonly string[]): void {
    this.files.push(file)
    const wildcardMustMatch = this.#wildcardMustMatch
    const stack = [...within, file]
    const { lines, problems } = linesOf(file, text)
    for (const problem of problems) this.#say(problem)
    let open: { readonly name: string | undefined; readonly lines: Passage[] } | undefined
    for (const line of lines) {
      if (this.#full) return
      if (open !== undefined) {
        const more = line.text.endsWith('\\')
        const content = more ? trimEnd(slice(line, 0, line.text.length - 1)) : line
        if (content.text !== '') open.lines.push(content)
        if (more) continue
        if (open.name !== undefined) this.#definitions.set(open.name, { kind: 'lines', lines: open.lines })
        open = undefined
      } else if (line.text !== '') open = this.#take(line, stack, 0)
    }
    if (open?.name !== undefined) this.#definitions.set(open.name, { kind: 'lines', lines: open.lines })
    this.#wildcardMustMatch = wildcardMustMatch
  }

  /** Processes a line. Returns the definition that continues in the next line, if any. */
  #take(written: Passage, stack: readonly string[], depth: number) {
    if (depth > DEEPEST)
      return this.#refuse(written, `Cannot read the line: more than ${DEEPEST} definitions or includes are nested`)
    let line = written
    let rest: readonly Passage[] = []
    for (let again = true; again && line.text !== ''; ) {
      again = false
      const condition = this.#condition(line)
      const defined = definitionIn(condition.line)
      if (defined !== undefined && !defined.value.text.startsWith('~') && rest.length === 0) {
        const { name, value } = defined
        if (value.text.endsWith('\\')) {
          const begun = trimEnd(slice(value, 0, value.text.length - 1))
          return { name: condition.holds ? name : undefined, lines: begun.text === '' ? [] : [begun] }
        }
        if (condition.holds) this.#definitions.set(name, { kind: 'text', text: value.text })
        return undefined
      }
      line = condition.holds ? condition.line : slice(condition.line, 0, 0)
      if (line.text.startsWith('~') && this.#repeat(line, stack, depth)) line = slice(line, 0, 0)
      if (line.text === '') break
      const replaced = replaceNames(line, this.#definitions)
      if (replaced.endless !== undefined)
        return this.#refuse(
          line,
          `Cannot replace "$${replaced.endless}": the definition contains itself or is too long`,
        )
      again = replaced.line !== line
      line = replaced.line
      if (replaced.rest.length > 0) rest = [...replaced.rest, ...rest]
    }
    if (line.text !== '') this.#emit(line, stack)
    for (const each of rest) this.#take(each, stack, depth + 1)
    return undefined
  }

  /**
   * Evaluates a condition: `@main ...` holds if the configuration id is main, `@^main ...` if the configuration id is
   * another name.
   */
  #condition(line: Passage): { readonly holds: boolean; readonly line: Passage } {
    const found = /^@(\^?)(\S*)([ \t]*)/.exec(line.text)
    if (found === null) return { holds: true, line }
    const [whole, not, name, space] = found
    const same = name === this.#surroundings.configId
    return { holds: space !== '' && same === (not === ''), line: slice(line, whole.length) }
  }

  #repeat(line: Passage, stack: readonly string[], depth: number): boolean {
    const [, kind, hexadecimal] = /^~(SEQ|LST)(x?)/.exec(line.text) ?? []
    if (kind === undefined) return false
    const found = bracketed(line, 4 + (hexadecimal ?? '').length)
    const inner = found === undefined ? '' : this.#plain(line, found.inner)
    const result = kind === 'SEQ' ? sequenceRounds(inner, hexadecimal === 'x') : listRounds(inner)
    if (found === undefined || 'refused' in result) {
      this.#refuse(
        line,
        `Cannot expand ~${kind}: ${'refused' in result ? result.refused : `expected "(" after ~${kind}, and its ")" in the same line`}`,
      )
      return true
    }
    for (const round of result.rounds) {
      if (this.#full) return true
      this.#define(round)
      this.#take(found.rest, stack, depth + 1)
    }
    return true
  }

  #define(round: Round): void {
    for (const [name, text] of round) this.#definitions.set(name, { kind: 'text', text } satisfies Definition)
  }

  /** Returns the text of a sequence with names replaced, because the bounds of a sequence may be names. */
  #plain(line: Passage, inner: string): string {
    return replaceNames({ ...line, text: inner }, this.#definitions).line.text
  }

  #emit(line: Passage, stack: readonly string[]): void {
    const words = wordsOf(line.text)
    const [keyword, pattern] = words
    if (keyword?.text === 'include_check') this.#checkIncludes(words.slice(1).map(({ text }) => text))
    if (pattern !== undefined && words.length === 2 && /^include[rmwba]?$/.test(keyword?.text ?? ''))
      return this.#include(line, keyword?.text ?? '', pattern, stack)
    if (line.text.endsWith('\\'))
      return this.#refuse(
        line,
        'Cannot continue this line in the next one: only definitions ($NAME=...) may have several lines',
        line.text.length - 1,
      )
    this.#characters += line.text.length
    if (this.lines.length < MOST_LINES && this.#characters <= MOST_CHARACTERS) {
      this.lines.push(line)
      return undefined
    }
    this.#full = true
    const message =
      `Cannot read the file: with its includes it has more than ${MOST_LINES} lines ` +
      `or ${MOST_CHARACTERS / 1024 / 1024} MiB`
    return this.#refuse(line, message)
  }

  #checkIncludes(options: readonly string[]): void {
    if (options.length === 0 || options.includes('+wildcard_match')) this.#wildcardMustMatch = true
    else if (options.includes('-wildcard_match')) this.#wildcardMustMatch = false
    else if (options.every((option) => !/^[-+]/.test(option)))
      this.#wildcardMustMatch = options.includes('wildcard_match')
  }

  #include(line: Passage, keyword: string, { text: pattern, start }: Word, stack: readonly string[]): undefined {
    const { files, unreadable } = this.#source(pattern, directoryOf(line.file))
    for (const { file, reason } of unreadable) this.#refuse(line, `Cannot include "${file}": ${reason}`, start)
    const wild = /[*?[]/.test(pattern)
    const must = !wild || this.#wildcardMustMatch || keyword === 'includew' || keyword === 'includea'
    if (files.length === 0 && unreadable.length === 0 && must)
      this.#refuse(line, `Cannot include "${pattern}": there is no such file`, start)
    else if (files.length === 0 && unreadable.length === 0)
      this.#say(problemAt(() => placeIn(line, start), [], 'warning', `include "${pattern}" ${MATCHES_NOTHING}`))
    for (const found of files) {
      if (stack.includes(found.file))
        this.#refuse(line, `Cannot include "${found.file}": this file includes itself`, start)
      else if (stack.length >= DEEPEST)
        this.#refuse(line, `Cannot include "${found.file}": more than ${DEEPEST} includes are nested`, start)
      else if (!this.#full) this.read(found, stack)
    }
    return undefined
  }

  #refuse(line: Passage, message: string, index = 0): undefined {
    this.#say(problemAt(() => placeIn(line, index), [], 'error', message))
    return undefined
  }

  #say(problem: Problem): void {
    if (this.problems.length < MOST_PROBLEMS) this.problems.push(problem)
    else this.#full = true
  }
}
