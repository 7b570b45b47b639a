/**
 * Converts the blocks vrrp_script, track_file and vrrp_track_process to health checks. The converted checks have
 * keepalived's interval and first result, without fast interval and jitter. A command is split into words and never
 * given to a shell. A script of root has the daemon's capabilities. This file decides what happens to a script that
 * other users can change. This file knows nothing about the trackers of a check; each tracker receives the check's own
 * weight.
 */
import { formatDuration } from '../../schema/duration.ts'
import type { Surroundings } from '../source.ts'
import { commandWordsOf } from '../text/lexer.ts'
import type { Line } from '../text/parser.ts'
import { always, atLeast, type ImportReport, isWholeNumber, leadingNumber, Section } from '../text/section.ts'
import { type Fields, mapping, type Written, written } from '../written.ts'

export type Weight = { readonly value: number; readonly reverse: boolean }

export type Tracked = {
  readonly kind: 'script' | 'file' | 'process'
  /** Name in the keepalived file. */
  readonly name: string
  readonly line: Line
  readonly weight: Weight
  /**
   * Keys of the check in holdfast's configuration, without `name`. `undefined` if keepalived would run without the
   * check. A warning has been given in that case.
   */
  readonly fields: Fields | undefined
  /** Reason why each instance that tracks the check is refused; `undefined` if the check refuses no instance. */
  readonly refused: string | undefined
}

export type CheckDefaults = { readonly user: Written | undefined; readonly security: boolean }

const LONGEST_INTERVAL = 3600
const MOST_RESULTS = 1000

/** Reads a vrrp_script block. */
export function scriptOf(
  line: Line,
  { user, security }: CheckDefaults,
  report: ImportReport,
  { programPath }: Surroundings,
): Tracked {
  const section = new Section('vrrp_script', line.block ?? [], report)
  const interval = section.seconds('interval', 0.001, 4294, atLeast(1))
  const timeout = section.seconds('timeout', 0.001, 4294, atLeast(1))
  const pace = written(duration(interval?.value ?? 1000), interval?.at ?? line.at)
  const initial = section.line('init_fail')
  const runsAs = userOf(section.line('user')) ?? user
  return {
    kind: 'script',
    name: line.words[1]?.text ?? '',
    line,
    weight: weightOf(section, 'script', 0),
    refused: undefined,
    fields: withProgram(section, programPath, {
      interval: pace,
      fastInterval: pace,
      timeout: timeout && written(duration(timeout.value), timeout.at),
      rise: count(section, 'rise'),
      fall: count(section, 'fall'),
      initial: initial && written('down', initial.at),
      jitter: written('0%', line.at),
      user: runsAs,
      capabilities: capabilitiesOf(runsAs, section.line('script') ?? line),
      unsafe: unsafeOf(runsAs, security, section.line('script') ?? line),
    }),
  }
}

/**
 * Returns the user that a line with a program names. The group after the user is not used: a program has the groups of
 * its user.
 */
export function userOf(line: Line | undefined): Written | undefined {
  const word = line?.words[1]
  return word === undefined ? undefined : written(word.text, word.at)
}

/**
 * Returns the key `capabilities` of a script. A program of keepalived has the rights of keepalived, unless keepalived
 * runs the program as another user; then the kernel removes the rights.
 */
export function capabilitiesOf(user: Written | undefined, line: Line): Written | undefined {
  return isRoot(user) ? written('keep', line.at) : undefined
}

/**
 * Returns the key `unsafe`. With enable_script_security, keepalived skips a program of root that other users can
 * change. keepalived does not check programs of other users.
 */
export const unsafeOf = (user: Written | undefined, security: boolean, line: Line): Written =>
  written(security && isRoot(user) ? 'skip' : 'run', line.at)

const isRoot = (user: Written | undefined): boolean => user === undefined || user.value === 'root' || user.value === '0'

const duration = (ms: number) => formatDuration(Math.min(LONGEST_INTERVAL * 1000, Math.max(10, ms)))

function count(section: Section, name: string): Written | undefined {
  const found = section.integer(name, 1, 999_999_999, always(1))
  return found && written(Math.min(MOST_RESULTS, found.value), found.at)
}

/**
 * Returns the weight of a check. keepalived accepts any number for a script; beyond `most` the priority does not change
 * further.
 */
function weightOf(section: Section, kind: Tracked['kind'], otherwise: number): Weight {
  const most = kind === 'script' ? 253 : 254
  let value = otherwise
  if (section.line('weight') !== undefined && section.word('weight') === undefined) return { value, reverse: false }
  for (const line of section.all('weight')) {
    const word = line.words[1]
    if (word === undefined) continue
    const read = leadingNumber(word.text)
    const isInside = Math.abs(read) <= most
    value = isInside ? read : kind === 'script' ? Math.sign(read) * most : value
    if (!isInside || !isWholeNumber(word.text)) section.ignore(line, `an integer from -${most} to ${most}`, word, value)
  }
  return { value, reverse: section.line('weight')?.words[2]?.text === 'reverse' }
}

function withProgram(section: Section, programPath: Surroundings['programPath'], fields: Fields): Fields | undefined {
  const line = section.line('script')
  const words = line === undefined ? undefined : programOf(line, programPath)
  if (line !== undefined && words !== undefined) return { exec: words, ...fields }
  if (line !== undefined) section.ignore(line, 'a program that exists, with closed quotes')
  return undefined
}

/**
 * Returns the program of a line. The second word of the line is the command, which is split into words; the rest of the
 * line is not used.
 */
export function programOf(line: Line, programPath: Surroundings['programPath']): Written | undefined {
  const command = commandWordsOf(line.text)?.[1]
  const [program, ...rest] = (command === undefined ? undefined : commandWordsOf(command)) ?? []
  if (program === undefined || program === '') return undefined
  const path = program.includes('/') ? program : programPath(program)
  if (path === undefined || !path.startsWith('/')) return undefined
  const at = line.words[1]?.at ?? line.at
  return written(
    [path, ...rest].map((word) => written(word, at)),
    at,
  )
}

/** Reads a track_file block. */
export function fileOf(line: Line, report: ImportReport): Tracked {
  const section = new Section('track_file', line.block ?? [], report)
  const file = section.word('file')
  const init = section.line('init_file')
  const initial = init?.words.slice(1).find(({ text }) => /^[-+]?\d/.test(text))?.text ?? '0'
  // For holdfast, too, a missing track file counts as the number 0.
  if (init !== undefined && Number(initial) === 0 && !init.words.some(({ text }) => text === 'overwrite'))
    report.change(init, 'noEffect', 'a missing file counts as 0 anyway')
  const absolute = file?.text.startsWith('/') === true
  if (file !== undefined && !absolute) section.ignore(section.line('file') ?? line, 'an absolute path')
  const name = line.words[1]?.text ?? ''
  const refused =
    init !== undefined && Number(initial) !== 0
      ? `holdfast does not create the file of "${name}" with the value ${initial}`
      : undefined
  return {
    kind: 'file',
    name,
    line,
    weight: weightOf(section, 'file', 1),
    refused,
    fields:
      file && absolute
        ? { file: written(file.text, file.at), content: written('weight', line.at), ...still(line) }
        : undefined,
  }
}

/** Returns a jitter of 0 % for a check without polling: keepalived is notified of each change by the kernel. */
const still = (line: Line): Fields => ({ jitter: written('0%', line.at) })

/** Reads a vrrp_track_process block. */
export function processOf(line: Line, report: ImportReport): Tracked {
  const section = new Section('vrrp_track_process', line.block ?? [], report)
  const processLine = section.line('process')
  const [, program, ...parameters] = processLine?.words ?? []
  const quorum = section.integer('quorum', 0, MOST_RESULTS)
  const name = line.words[1]?.text ?? ''
  const odd = ['param_match', 'full_command', 'quorum_max'].find((keyword) => section.line(keyword) !== undefined)
  const refused =
    odd !== undefined
      ? `"${odd}" of "${name}" is not supported`
      : parameters.length > 0
        ? `"${name}" selects a process by its parameters; holdfast finds processes by name only`
        : quorum?.value === 0
          ? `"${name}" has quorum 0`
          : undefined
  const both = section.seconds('delay', 0, 3600)
  const fork = section.seconds('fork_delay', 0, 3600) ?? both
  const end = section.seconds('terminate_delay', 0, 3600) ?? both
  const looks = (delay: typeof both) => delay && written(1 + Math.ceil(delay.value / 1000), delay.at)
  const pace = written('1s', line.at)
  const comm = program?.text.replace(/^.*\//, '') ?? ''
  return {
    kind: 'process',
    name,
    line,
    weight: weightOf(section, 'process', 0),
    refused,
    fields:
      program && comm !== ''
        ? {
            process: written(comm, program.at),
            count: quorum && written(Math.max(1, quorum.value), quorum.at),
            interval: pace,
            fastInterval: fork || end ? pace : undefined,
            rise: looks(fork),
            fall: looks(end),
            ...still(line),
          }
        : undefined,
  }
}

/** Returns a check as an entry of `healthchecks`, with its name in holdfast. */
export const checkEntry = (name: string, { fields = {}, line }: Tracked): Written =>
  mapping({ name: written(name, line.words[1]?.at ?? line.at), ...fields }, line.at)
