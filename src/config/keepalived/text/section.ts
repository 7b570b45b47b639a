/**
 * One block of a keepalived file, read by keyword. Every line has a handling from the table. If a keyword is repeated,
 * its last line counts. If a value has an error, the value that keepalived would use takes effect. This file knows
 * nothing about the meaning of a keyword.
 */
import { refusedValue } from '../../../base/refused-value.ts'
import type { Position, Problem } from '../../problem.ts'
import type { Handling, HandlingKind } from '../keywords/handling.ts'
import type { Block } from '../keywords/keyword.ts'
import { keywordIn } from '../keywords/keywords.ts'
import type { Line, Word } from './parser.ts'

/** Text of an error for which keepalived -t has an exit status of its own. */
export const VALUE_REQUIRED = 'a value is required'

/** Collects the handling of each line, and the remarks, while a file is imported. */
export class ImportReport {
  readonly #handlings = new Map<Line, Handling>()
  readonly #remarks: Problem[] = []

  set(line: Line, kind: HandlingKind, keyword: string, message: string): void {
    this.#handlings.set(line, { kind, keyword, at: line.at, message })
  }

  /** Changes the handling of a line of the keepalived file. */
  change(line: Line, kind: HandlingKind, message: string): void {
    const before = this.#handlings.get(line)
    this.set(line, kind, before?.keyword ?? line.words[0]?.text ?? '', message)
  }

  /**
   * Marks a line as refused. `message` is a complete sentence with the name of the keyword, as in the reason of a
   * fault.
   */
  refuse(line: Line, message: string): void {
    this.change(line, 'refused', message.replace(/^"[^"]*" is refused: /, ''))
  }

  warn(at: Position, message: string): void {
    this.#remarks.push({ ...at, path: '', message, severity: 'warning' })
  }

  /** Adds an error because of which the whole keepalived file is refused. */
  fail(at: Position, message: string, asKeepalived = true): void {
    const also = asKeepalived ? ' (keepalived refuses this file as well)' : ''
    this.#remarks.push({ ...at, path: '', message: message + also, severity: 'error' })
  }

  get handlings(): readonly Handling[] {
    return [...this.#handlings.values()]
  }

  /** Remarks of the import that are not about the handling of one line. */
  get notes(): readonly Problem[] {
    return this.#remarks
  }

  /** Warnings: one for each line of the keepalived file that has no counterpart in holdfast's configuration. */
  get warnings(): readonly Problem[] {
    return this.handlings.flatMap(({ kind, keyword, at, message }): Problem[] => {
      const begin = WARNING_TEXT[kind]
      return begin === undefined ? [] : [{ ...at, path: '', message: begin(keyword, message), severity: 'warning' }]
    })
  }
}

const WARNING_TEXT: Partial<Record<HandlingKind, (keyword: string, message: string) => string>> = {
  notSupported: (keyword, message) => `"${keyword}" is not supported: ${message}`,
  refused: (keyword, message) => `"${keyword}" is refused: ${message}`,
  unknown: (keyword, message) => `${keyword}: ${message}`,
}

export class Section {
  readonly report: ImportReport
  readonly #lines = new Map<string, Line[]>()

  constructor(block: Block, lines: readonly Line[], report: ImportReport) {
    this.report = report
    for (const line of lines) {
      const name = line.words[0]?.text ?? ''
      const keyword = keywordIn(block, name)
      if (keyword === undefined) {
        const where = block === 'file' ? 'top level' : block
        // The word may be a part of a password that was written as two words, so no message quotes it.
        const shown = block === 'authentication' ? '' : ` "${name.slice(0, 64)}"`
        report.set(line, 'unknown', where, `keepalived has no keyword${shown} there; the line is ignored`)
        continue
      }
      report.set(line, keyword.handling, name, keyword.handling === 'carried' ? '' : keyword.says)
      const same = this.#lines.get(name)
      if (same === undefined) this.#lines.set(name, [line])
      else same.push(line)
    }
  }

  /** Returns every line of a keyword in this block. */
  all(name: string): readonly Line[] {
    return this.#lines.get(name) ?? []
  }

  /** Returns the last line of a keyword in this block. Earlier lines of the keyword do not count. */
  line(name: string): Line | undefined {
    const lines = this.all(name)
    const last = lines.at(-1)
    for (const line of lines)
      if (line !== last) this.report.change(line, 'noEffect', `set again on line ${last?.at.line}`)
    return last
  }

  /** Returns the value of a keyword. A missing value is an error, for which keepalived stops as well. */
  word(name: string): Word | undefined {
    const line = this.line(name)
    const word = line?.words[1]
    if (line !== undefined && word === undefined) this.report.fail(line.at, `${name}: ${VALUE_REQUIRED}`)
    return word
  }

  /** Returns the value of the last line that has a valid integer. */
  integer(name: string, least: number, most: number, after?: AfterError): Value {
    return this.#number(name, { least, most, form: /^[-+]?\d{1,9}$/, what: 'an integer', ...after })
  }

  /** Returns a value in seconds as milliseconds. */
  seconds(name: string, least: number, most: number, after?: AfterError): Value {
    const form = /^[-+]?(?:\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})$/
    const found = this.#number(name, { least, most, form, what: 'seconds', ...after })
    return found === undefined ? undefined : { ...found, value: Math.round(found.value * 1e6) / 1e3 }
  }

  /** Returns the value of `keyword`, `keyword on` or `keyword off`. */
  flag(name: string): { readonly value: boolean; readonly at: Position } | undefined {
    const line = this.line(name)
    if (line === undefined) return undefined
    const word = line.words[1]
    const value = word === undefined ? true : FLAGS[word.text]
    if (value !== undefined) return { value, at: word?.at ?? line.at }
    this.ignore(line, 'on or off', word)
    return undefined
  }

  /** Returns the lines inside all blocks with this name, such as track_script. Several blocks count as one. */
  entries(name: string): readonly Line[] {
    return this.all(name).flatMap((line) => {
      if (line.block === undefined) this.ignore(line, 'a block { }')
      return line.block ?? []
    })
  }

  /**
   * Reports a line with a value that keepalived does not accept. `instead` is the value that keepalived uses; without
   * `instead`, the line is ignored.
   */
  ignore(line: Line, expected: string, word?: Word, instead?: number): void {
    const name = line.words[0]?.text ?? ''
    const result =
      instead === undefined ? 'the line is ignored, as in keepalived' : `${instead} is used, as in keepalived`
    // A keyword without a value is followed by a block or by nothing.
    this.report.change(line, 'noEffect', `expected ${expected}; ${result}`)
    this.report.warn(line.words[1]?.at ?? line.at, `${refusedValue(name, word?.text ?? null, expected)}; ${result}`)
  }

  /**
   * Returns the value of a keyword that takes effect. If the last line has an error, this is the value of an earlier
   * line, or the value that keepalived uses instead.
   */
  #number(name: string, { least, most, form, what, text, outside }: Expected): Value {
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
      this.ignore(line, `${what} from ${least} to ${most}`, word, instead ?? found?.value)
      if (instead !== undefined) found = { value: instead, at: word.at }
    }
    return found
  }
}

type Value = { readonly value: number; readonly at: Position } | undefined

/** Value that keepalived 2.2.7 uses after an error. Without such a value, the line is ignored. */
export type AfterError = {
  /** Value that keepalived uses after a text that is not a number. */
  readonly text?: number
  /** Returns the value that keepalived uses after a number out of range. */
  readonly outside?: (value: number) => number | undefined
}

type Expected = AfterError & {
  readonly least: number
  readonly most: number
  readonly form: RegExp
  readonly what: string
}

/** Returns the number at the start of a text, as strtol does. */
export const leadingNumber = (text: string): number => Number(/^[-+]?\d{1,9}/.exec(text)?.[0] ?? 0)

export const isWholeNumber = (text: string): boolean => /^[-+]?\d{1,9}$/.test(text)

/** Returns a rule by which each error in a number gives the value `value`. */
export const always = (value: number): AfterError => ({ text: value, outside: () => value })

/**
 * Uses `least` after a text that is not a number, and after a number from `from` up to `least`. A greater number is
 * ignored.
 */
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
