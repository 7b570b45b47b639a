/**
 * Writes log records as lines. The format can change between two records. This file decides the format if none is
 * configured (docs/adr/0080). Log records are not filtered here.
 */
import { fstatSync } from 'node:fs'
import { isatty } from 'node:tty'
import { pino } from 'pino'
import type { LogFormat } from '../../config/config.ts'
import { journalJson } from './journal-limit.ts'
import { journaldLine, type LogLine, painted, safeJson, textLine } from './log-format.ts'

type Output = { write(line: string): void }
type Environment = Readonly<Record<string, string | undefined>>

/**
 * Returns the log format for a descriptor: `journald` if systemd has connected the descriptor to its journal
 * (JOURNAL_STREAM, systemd.exec(5)), `text` for a terminal, otherwise `json`.
 */
export function formatOf(descriptor: number, environment: Environment = process.env): LogFormat {
  if (isatty(descriptor)) return 'text'
  const { dev, ino } = fstatSync(descriptor, { bigint: true })
  return environment.JOURNAL_STREAM === `${dev}:${ino}` ? 'journald' : 'json'
}

/**
 * Tells whether log lines have colors: on a terminal, unless the environment disables colors (https://no-color.org).
 */
const wantsColor = (descriptor: number, { NO_COLOR, TERM }: Environment): boolean =>
  isatty(descriptor) && (NO_COLOR ?? '') === '' && TERM !== 'dumb'

export class LogLines {
  readonly #found: LogFormat
  readonly #json: (record: LogLine) => void
  readonly #text: (record: LogLine) => void
  readonly #journald: (record: LogLine) => void
  #write: (record: LogLine) => void

  /** `name` is the name of the program, for JSON. `descriptor` is the descriptor to which `output` writes. */
  constructor(name: string, output: Output, descriptor: number, environment: Environment = process.env) {
    this.#found = formatOf(descriptor, environment)
    const base = { name, pid: process.pid }
    const bounded = this.#found === 'journald' ? journalJson : (line: string) => line
    const safe = { write: (line: string) => output.write(bounded(safeJson(line))) }
    const logger = pino({ level: 'debug', base, timestamp: false }, safe)
    const paint = wantsColor(descriptor, environment) ? painted : undefined
    this.#json = ({ event, fields, level, message, time }) => logger[level]({ time, event, ...fields }, message)
    this.#text = (record) => output.write(textLine(record, paint))
    this.#journald = (record) => output.write(journaldLine(record))
    this.#write = this.#json
    this.setFormat(undefined)
  }

  /** Sets the log format. `undefined` selects the format for the descriptor. */
  setFormat(format: LogFormat | undefined): void {
    const writers = { json: this.#json, text: this.#text, journald: this.#journald }
    this.#write = writers[format ?? this.#found]
  }

  write(record: LogLine): void {
    this.#write(record)
  }
}
