/**
 * Formats a log record as a line for people (`text`) or for the systemd journal (`journald`, sd-daemon(3)). This file
 * decides the order of a line's parts, and that no value can end a line, begin another one or control a terminal
 * (docs/adr/0080). Pure: the functions convert a record to a line. JSON lines are made by pino.
 */
import { messageOf } from '../../base/message-of.ts'
import type { LogLevel } from '../../log/log-event.ts'

type Fields = Readonly<Record<string, unknown>>
export type LogLine = {
  /** Time of the log record in milliseconds since the epoch. */
  readonly time: number
  readonly level: LogLevel
  /** Code of the event that the log record reports. */
  readonly event: string
  readonly message: string
  readonly fields: Fields
}

type Level = {
  /** Number of the log level in JSON, as pino has it. */
  readonly pino: number
  /** Priority of the log level in syslog(3), which the systemd journal reads. */
  readonly syslog: number
}

export const LEVELS: Readonly<Record<LogLevel, Level>> = {
  debug: { pino: 20, syslog: 7 },
  info: { pino: 30, syslog: 6 },
  warn: { pino: 40, syslog: 4 },
  error: { pino: 50, syslog: 3 },
}

/**
 * Longest log line in characters. The journal ends a record after 48 KiB and would read the rest as a new record with
 * its own priority.
 */
const MOST_CHARACTERS = 12_000

/** Control characters (C0, DEL, C1), line ends, invisible characters, and those that change the direction of text. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu
/** Unsafe characters as above, without C0, which JSON already escapes. */
const UNSAFE_IN_JSON = /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu
/**
 * Ranges that contain all unsafe characters. A test for these ranges is four times as fast, and most lines have none of
 * them.
 */
const SUSPECT = /[\u007f-\u009f\u00ad\u0600-\u08ff\u180e\u2000-\u206f\ud800-\udfff\ufeff\ufff0-\uffff]/
const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }
/** A field value that needs no quotes in a log line. */
const BARE = /^[\w.:/@%+,-]+$/

const hexadecimal = (character: string): string =>
  character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
const escaped = (text: string): string => text.replace(UNSAFE, (match) => SHORT[match] ?? hexadecimal(match))

/** Returns a line of JSON with the same value but without characters that control a terminal. */
export const safeJson = (line: string): string =>
  SUSPECT.test(line) ? line.replace(UNSAFE_IN_JSON, hexadecimal) : line

/**
 * Returns a time as text: "2026-11-24T21:49:01.123+01:00". `offset`: minutes east of UTC, by default those of this
 * machine.
 */
export function localTime(at: number, offset = -new Date(at).getTimezoneOffset()): string {
  const minutes = Math.abs(offset)
  const two = (number: number) => String(number).padStart(2, '0')
  const zone = `${offset < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`
  return `${new Date(at + offset * 60_000).toISOString().slice(0, -1)}${zone}`
}

/** Cached time text of the last line's second, before and after the milliseconds. Most log lines share it. */
let known = { second: Number.NaN, before: '', behind: '' }

function timeOf(at: number): string {
  const second = Math.floor(at / 1000)
  if (second !== known.second) {
    const whole = localTime(second * 1000)
    known = { second, before: whole.slice(0, 20), behind: whole.slice(23) }
  }
  return `${known.before}${String(Math.floor(at) - second * 1000).padStart(3, '0')}${known.behind}`
}

/** Returns a line of `text` with its line end: time, level, router, message, event, fields. `paint` colors the level. */
export const textLine = (record: LogLine, paint = plain): string =>
  `${timeOf(record.time)} ${paint(record.level)} ${saying(record)}\n`

/**
 * Returns a line of `journald` with its line end: the priority, then `text` without the time, which the journal adds.
 */
export const journaldLine = (record: LogLine): string =>
  `<${LEVELS[record.level].syslog}>${plain(record.level)} ${saying(record)}\n`

const plain = (level: LogLevel): string => level.toUpperCase().padEnd(5)

const COLORS: Readonly<Record<LogLevel, string>> = { debug: '2', info: '32', warn: '33', error: '1;31' }

/** Returns the level in its color (ECMA-48), for a terminal. */
export const painted = (level: LogLevel): string => `\u001b[${COLORS[level]}m${plain(level)}\u001b[0m`

function saying({ event, message, fields }: LogLine): string {
  const { router, ...rest } = fields
  const isNamed = typeof router === 'string' && (message.startsWith(`${router}:`) || message.startsWith(`${router} `))
  const head = typeof router !== 'string' || isNamed ? message : `${router}: ${message}`
  const line = `${escaped(head)} event=${event}${fieldText(typeof router === 'string' ? rest : fields)}`
  const over = line.length - MOST_CHARACTERS
  return over <= 0 ? line : `${line.slice(0, MOST_CHARACTERS)}… (${over} more characters)`
}

function fieldText(fields: Fields): string {
  let text = ''
  for (const [key, value] of Object.entries(fields))
    if (value !== undefined) text += ` ${BARE.test(key) ? key : quoted(key)}=${valueWord(value)}`
  return text
}

function valueWord(value: unknown): string {
  if (typeof value === 'string') return BARE.test(value) ? value : quoted(value)
  if (typeof value !== 'object' || value === null) return escaped(String(value))
  try {
    return escaped(JSON.stringify(value))
  } catch (error) {
    return quoted(`no JSON: ${messageOf(error)}`)
  }
}

const quoted = (text: string): string => escaped(JSON.stringify(text))
