/**
 * Log records as lines in the format that is in force, which may change between two records. Decided here: which format
 * that is where none is configured (docs/adr/0080). Refuses to know which records are wanted, and who reads them.
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
 * Returns `journald` where the descriptor is the one that systemd connected to its journal (JOURNAL_STREAM,
 * systemd.exec(5)), `text` where it is a terminal, otherwise `json`.
 */
export function formatOf(descriptor: number, environment: Environment = process.env): LogFormat {
  if (isatty(descriptor)) return 'text'
  const { dev, ino } = fstatSync(descriptor, { bigint: true })
  return environment.JOURNAL_STREAM === `${dev}:${ino}` ? 'journald' : 'json'
}

/** A terminal, and no one who asked for none (https://no-color.org). */
const wantsColor = (descriptor: number, { NO_COLOR, TERM }: Environment): boolean =>
  isatty(descriptor) && (NO_COLOR ?? '') === '' && TERM !== 'dumb'

export class LogLines {
  readonly #found: LogFormat
  readonly #json: (record: LogLine) => void
  readonly #text: (record: LogLine) => void
  readonly #journald: (record: LogLine) => void
  #write: (record: LogLine) => void

  /** `name`: of the program, in JSON alone. `descriptor`: where `output` writes. */
  constructor(name: string, output: Output, descriptor: number, environment: Environment = process.env) {
    this.#found = formatOf(descriptor, environment)
    const base = { name, pid: process.pid }
    const bounded = this.#found === 'journald' ? journalJson : (line: string) => line
    const safe = { write: (line: string) => output.write(bounded(safeJson(line))) }
    const logger = pino({ level: 'debug', base, timestamp: false }, safe)
    const paint = wantsColor(descriptor, environment) ? painted : undefined
    this.#json = ({ time, level, message, fields }) => logger[level]({ time, ...fields }, message)
    this.#text = (record) => output.write(textLine(record, paint))
    this.#journald = (record) => output.write(journaldLine(record))
    this.#write = this.#json
    this.setFormat(undefined)
  }

  /** `undefined`: the one that fits the descriptor. */
  setFormat(format: LogFormat | undefined): void {
    const writers = { json: this.#json, text: this.#text, journald: this.#journald }
    this.#write = writers[format ?? this.#found]
  }

  write(record: LogLine): void {
    this.#write(record)
  }
}
