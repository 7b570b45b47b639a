/**
 * One block of a keepalived file, looked at by keyword. Decided here: every line gets a fate from the table, of a
 * keyword that is repeated the last line counts, and a value that keepalived would not take is told and left out as it
 * does. This file does not know what any keyword means.
 */
import type { Position, Problem } from '../problem.ts'
import type { Fate, FateKind } from './fate.ts'
import type { Block } from './keyword.ts'
import { keywordIn } from './keywords.ts'
import type { Line, Word } from './parser.ts'

/** What is said about a file while it is imported. */
export class Ledger {
  readonly #fates = new Map<Line, Fate>()
  readonly #warnings: Problem[] = []

  fate(line: Line, kind: FateKind, keyword: string, message: string): void {
    this.#fates.set(line, { kind, keyword, at: line.at, message })
  }

  /** Of a line that has one already. */
  turn(line: Line, kind: FateKind, message: string): void {
    const before = this.#fates.get(line)
    this.fate(line, kind, before?.keyword ?? line.words[0]?.text ?? '', message)
  }

  /** `message` says it whole, with the name of the keyword, as the reason of a fault does. */
  refuse(line: Line, message: string): void {
    this.turn(line, 'refused', message.replace(/^"[^"]*" is refused: /, ''))
  }

  warn(at: Position, message: string): void {
    this.#warnings.push({ ...at, path: '', message, severity: 'warning' })
  }

  get fates(): readonly Fate[] {
    return [...this.#fates.values()]
  }

  /** What was said in so many words. */
  get notes(): readonly Problem[] {
    return this.#warnings
  }

  /** What the fates come to. */
  get told(): readonly Problem[] {
    return this.fates.flatMap(({ kind, keyword, at, message }): Problem[] => {
      const begin = WORDS[kind]
      return begin === undefined ? [] : [{ ...at, path: '', message: begin(keyword, message), severity: 'warning' }]
    })
  }
}

const WORDS: Partial<Record<FateKind, (keyword: string, message: string) => string>> = {
  notSupported: (keyword, message) => `"${keyword}" is not supported: ${message}`,
  refused: (keyword, message) => `"${keyword}" is refused: ${message}`,
  unknown: (keyword, message) => `${keyword}: ${message}`,
}

export class Section {
  readonly ledger: Ledger
  readonly #lines = new Map<string, Line[]>()

  constructor(block: Block, lines: readonly Line[], ledger: Ledger) {
    this.ledger = ledger
    for (const line of lines) {
      const name = line.words[0]?.text ?? ''
      const keyword = keywordIn(block, name)
      if (keyword === undefined) {
        const where = block === 'file' ? 'top level' : block
        // Half of a password that was cut in two may stand where a keyword should.
        const shown = block === 'authentication' ? '' : ` "${name.slice(0, 64)}"`
        ledger.fate(line, 'unknown', where, `keepalived has no keyword${shown} there, it is skipped`)
        continue
      }
      ledger.fate(line, keyword.fate, name, keyword.fate === 'carried' ? '' : keyword.says)
      const same = this.#lines.get(name)
      if (same === undefined) this.#lines.set(name, [line])
      else same.push(line)
    }
  }

  /** Every line of a keyword, for those that add up. */
  all(name: string): readonly Line[] {
    return this.#lines.get(name) ?? []
  }

  /** The line that counts. */
  line(name: string): Line | undefined {
    const lines = this.all(name)
    const last = lines.at(-1)
    for (const line of lines)
      if (line !== last) this.ledger.turn(line, 'noEffect', `set again on line ${last?.at.line}`)
    return last
  }

  word(name: string): Word | undefined {
    const line = this.line(name)
    const word = line?.words[1]
    if (line !== undefined && word === undefined) this.ignore(line, 'a value wanted')
    return word
  }

  /** A whole number in the way of strtol: all of the word, decimal. */
  integer(name: string, least: number, most: number): { readonly value: number; readonly at: Position } | undefined {
    return this.#number(name, least, most, /^[-+]?\d{1,9}$/, `a whole number from ${least} to ${most} wanted`)
  }

  /** Seconds as milliseconds. */
  seconds(name: string, least: number, most: number): { readonly value: number; readonly at: Position } | undefined {
    const wanted = `seconds from ${least} to ${most} wanted`
    const found = this.#number(name, least, most, /^\d{1,9}(?:\.\d{0,9})?$|^\.\d{1,9}$/, wanted)
    return found === undefined ? undefined : { ...found, value: Math.round(found.value * 1e6) / 1e3 }
  }

  /** `keyword`, `keyword on`, `keyword off`. */
  flag(name: string): { readonly value: boolean; readonly at: Position } | undefined {
    const line = this.line(name)
    if (line === undefined) return undefined
    const word = line.words[1]
    const value = word === undefined ? true : FLAGS[word.text]
    if (value !== undefined) return { value, at: word?.at ?? line.at }
    this.ignore(line, 'on or off wanted')
    return undefined
  }

  /** The lines of blocks such as track_script, however many blocks there are. */
  entries(name: string): readonly Line[] {
    return this.all(name).flatMap((line) => {
      if (line.block === undefined) this.ignore(line, 'a block { } wanted')
      return line.block ?? []
    })
  }

  /** What keepalived does with a value that it cannot use: it says so and goes on without it. */
  ignore(line: Line, wanted: string): void {
    const name = line.words[0]?.text ?? ''
    this.ledger.turn(line, 'noEffect', `${wanted}, so it is left out as keepalived does`)
    this.ledger.warn(
      line.words[1]?.at ?? line.at,
      `Cannot use the value of "${name}": ${wanted}; it is left out, as keepalived does`,
    )
  }

  #number(name: string, least: number, most: number, form: RegExp, wanted: string) {
    const line = this.line(name)
    const word = this.word(name)
    if (line === undefined || word === undefined) return undefined
    const value = form.test(word.text) ? Number(word.text) : Number.NaN
    if (value >= least && value <= most) return { value, at: word.at }
    this.ignore(line, wanted)
    return undefined
  }
}

const FLAGS: Readonly<Record<string, boolean>> = {
  on: true,
  true: true,
  yes: true,
  off: false,
  false: false,
  no: false,
}
