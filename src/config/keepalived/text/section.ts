/**
 * One block of a keepalived file, looked at by keyword. Decided here: every line gets a fate from the table, of a
 * keyword that is repeated the last line counts, and after a value with an error that of keepalived is in force. This file does not know what any keyword means.
 */
import type { Position, Problem } from '../../problem.ts'
import type { Fate, FateKind } from '../keywords/fate.ts'
import type { Block } from '../keywords/keyword.ts'
import { keywordIn } from '../keywords/keywords.ts'
import type { Line, Word } from './parser.ts'

/** keepalived -t has an exit status of its own for it. */
export const VALUE_REQUIRED = 'a value is required'

/** What is said about a file while it is imported. */
export class Ledger {
  readonly #fates = new Map<Line, Fate>()
  readonly #remarks: Problem[] = []

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
    this.#remarks.push({ ...at, path: '', message, severity: 'warning' })
  }

  /** Refuses the whole file. */
  fail(at: Position, message: string, asKeepalived = true): void {
    const also = asKeepalived ? ' (keepalived refuses this file as well)' : ''
    this.#remarks.push({ ...at, path: '', message: message + also, severity: 'error' })
  }

  get fates(): readonly Fate[] {
    return [...this.#fates.values()]
  }

  /** What was said in so many words. */
  get notes(): readonly Problem[] {
    return this.#remarks
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

  /** keepalived ends at a keyword without the value that it needs. */
  word(name: string): Word | undefined {
    const line = this.line(name)
    const word = line?.words[1]
    if (line !== undefined && word === undefined) this.ledger.fail(line.at, `${name}: ${VALUE_REQUIRED}`)
    return word
  }

  /** Returns the whole number of the last line that keepalived takes. */
  integer(name: string, least: number, most: number, after?: AfterError): Value {
    return this.#number(name, { least, most, form: /^[-+]?\d{1,9}$/, what: 'a whole number', ...after })
  }

  /** Returns milliseconds. */
  seconds(name: string, least: number, most: number, after?: AfterError): Value {
    const form = /^[-+]?(?:\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})$/
    const found = this.#number(name, { least, most, form, what: 'seconds', ...after })
    return found === undefined ? undefined : { ...found, value: Math.round(found.value * 1e6) / 1e3 }
  }

  /** `keyword`, `keyword on`, `keyword off`. */
  flag(name: string): { readonly value: boolean; readonly at: Position } | undefined {
    const line = this.line(name)
    if (line === undefined) return undefined
    const word = line.words[1]
    const value = word === undefined ? true : FLAGS[word.text]
    if (value !== undefined) return { value, at: word?.at ?? line.at }
    this.ignore(line, 'on or off wanted', word)
    return undefined
  }

  /** The lines of blocks such as track_script, however many blocks there are. */
  entries(name: string): readonly Line[] {
    return this.all(name).flatMap((line) => {
      if (line.block === undefined) this.ignore(line, 'a block { } wanted')
      return line.block ?? []
    })
  }

  /** Reports a line that keepalived does not take as it is written; `instead` is in force. */
  ignore(line: Line, wanted: string, word?: Word, instead?: number): void {
    const name = line.words[0]?.text ?? ''
    const result =
      instead === undefined ? 'it is left out, as keepalived does' : `${instead} is used, as keepalived does`
    const value = word === undefined ? `the value of "${name}"` : `"${word.text}" as ${name}`
    this.ledger.turn(line, 'noEffect', `${wanted}; ${result}`)
    this.ledger.warn(line.words[1]?.at ?? line.at, `Cannot use ${value}: ${wanted}; ${result}`)
  }

  /** A line with an error leaves the value of an earlier line in force, or sets the one that keepalived takes instead. */
  #number(name: string, { least, most, form, what, text, outside }: Wanted): Value {
    let found: Value
    if (this.line(name) !== undefined && this.word(name) === undefined) return undefined
    for (const line of this.all(name)) {
      const word = line.words[1]
      if (word === undefined) continue
      const value = form.test(word.text) ? Number(word.text) : Number.NaN
      if (value >= least && value <= most) {
        found = { value, at: word.at }
        continue
      }
      const instead = Number.isNaN(value) ? text : outside?.(value)
      this.ignore(line, `${what} from ${least} to ${most} wanted`, word, instead ?? found?.value)
      if (instead !== undefined) found = { value: instead, at: word.at }
    }
    return found
  }
}

type Value = { readonly value: number; readonly at: Position } | undefined

/** What keepalived 2.2.7 takes after an error. Without one the line counts for nothing. */
export type AfterError = {
  /** After a text that is no number. */
  readonly text?: number
  /** After a number out of range. */
  readonly outside?: (value: number) => number | undefined
}

type Wanted = AfterError & {
  readonly least: number
  readonly most: number
  readonly form: RegExp
  readonly what: string
}

/** Returns the number at the beginning of a text, as strtol does. */
export const leadingNumber = (text: string): number => Number(/^[-+]?\d{1,9}/.exec(text)?.[0] ?? 0)

export const isWholeNumber = (text: string): boolean => /^[-+]?\d{1,9}$/.test(text)

/** One value after each error. */
export const always = (value: number): AfterError => ({ text: value, outside: () => value })

/** The least value after a text that is no number, and after a number below it; a greater number is left out. */
export const atLeast = (least: number, from = 0): AfterError => ({
  text: least,
  outside: (value) => (value >= from && value < least ? least : undefined),
})

const FLAGS: Readonly<Record<string, boolean>> = {
  on: true,
  true: true,
  yes: true,
  off: false,
  false: false,
  no: false,
}
