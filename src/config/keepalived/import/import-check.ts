/**
 * vrrp_script, track_file and vrrp_track_process as health checks. Decided here: that they keep keepalived's pace (no
 * fast interval, no jitter) and its first result, that a command is cut and never given to a shell, that root's has
 * the daemon's capabilities, and what becomes of one that others can change. This file does not know who tracks a check; the weight that a check has by itself is handed
 * on to whoever does.
 */
import { formatDuration } from '../../schema/duration.ts'
import type { Surroundings } from '../source.ts'
import { commandWordsOf } from '../text/lexer.ts'
import type { Line } from '../text/parser.ts'
import { always, atLeast, isWholeNumber, type Ledger, leadingNumber, Section } from '../text/section.ts'
import { type Fields, mapping, type Written, written } from '../written.ts'

export type Weight = { readonly value: number; readonly reverse: boolean }

export type Tracked = {
  readonly kind: 'script' | 'file' | 'process'
  /** As the file calls it. */
  readonly name: string
  readonly line: Line
  readonly weight: Weight
  /** Without its name. Undefined: keepalived would go on without it, which has been told. */
  readonly fields: Fields | undefined
  /** Set: whoever tracks it is refused. */
  readonly refused: string | undefined
}

export type CheckDefaults = { readonly user: Written | undefined; readonly security: boolean }

const LONGEST_INTERVAL = 3600
const MOST_RESULTS = 1000

export function scriptOf(
  line: Line,
  { user, security }: CheckDefaults,
  ledger: Ledger,
  { programPath }: Surroundings,
): Tracked {
  const section = new Section('vrrp_script', line.block ?? [], ledger)
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

/** The name of a group behind it is not taken over: the groups are those of the user. */
export function userOf(line: Line | undefined): Written | undefined {
  const word = line?.words[1]
  return word === undefined ? undefined : written(word.text, word.at)
}

/** keepalived's programs have its own rights, unless it becomes another user for them: then the kernel takes them away. */
export function capabilitiesOf(user: Written | undefined, line: Line): Written | undefined {
  return isRoot(user) ? written('keep', line.at) : undefined
}

/** With enable_script_security keepalived drops what root would run and others can change; whom else it runs it does not ask. */
export const unsafeOf = (user: Written | undefined, security: boolean, line: Line): Written =>
  written(security && isRoot(user) ? 'skip' : 'run', line.at)

const isRoot = (user: Written | undefined): boolean => user === undefined || user.value === 'root' || user.value === '0'

const duration = (ms: number) => formatDuration(Math.min(LONGEST_INTERVAL * 1000, Math.max(10, ms)))

function count(section: Section, name: string): Written | undefined {
  const found = section.integer(name, 1, 999_999_999, always(1))
  return found && written(Math.min(MOST_RESULTS, found.value), found.at)
}

/** keepalived takes every number as the weight of a script; beyond `most` it moves the priority no further. */
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
    if (!isInside || !isWholeNumber(word.text))
      section.ignore(line, `a whole number from -${most} to ${most} wanted`, word, value)
  }
  return { value, reverse: section.line('weight')?.words[2]?.text === 'reverse' }
}

function withProgram(section: Section, programPath: Surroundings['programPath'], fields: Fields): Fields | undefined {
  const line = section.line('script')
  const words = line === undefined ? undefined : programOf(line, programPath)
  if (line !== undefined && words !== undefined) return { exec: words, ...fields }
  if (line !== undefined) section.ignore(line, 'a program that is there, and quotes that are closed, wanted')
  return undefined
}

/** The second word of the line, cut into words; what stands behind it is not part of the command. */
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

export function fileOf(line: Line, ledger: Ledger): Tracked {
  const section = new Section('track_file', line.block ?? [], ledger)
  const file = section.word('file')
  const init = section.line('init_file')
  const initial = init?.words.slice(1).find(({ text }) => /^[-+]?\d/.test(text))?.text ?? '0'
  // Without the file its value is 0 here as well.
  if (init !== undefined && Number(initial) === 0 && !init.words.some(({ text }) => text === 'overwrite'))
    ledger.turn(init, 'noEffect', 'a file that is missing counts as 0 as well')
  const absolute = file?.text.startsWith('/') === true
  if (file !== undefined && !absolute) section.ignore(section.line('file') ?? line, 'an absolute path wanted')
  const name = line.words[1]?.text ?? ''
  const refused =
    init !== undefined && Number(initial) !== 0 ? `the file of "${name}" is not made with ${initial} in it` : undefined
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

/** keepalived is told of a change and does not wait for another look at it. */
const still = (line: Line): Fields => ({ jitter: written('0%', line.at) })

export function processOf(line: Line, ledger: Ledger): Tracked {
  const section = new Section('vrrp_track_process', line.block ?? [], ledger)
  const processLine = section.line('process')
  const [, program, ...parameters] = processLine?.words ?? []
  const quorum = section.integer('quorum', 0, MOST_RESULTS)
  const name = line.words[1]?.text ?? ''
  const odd = ['param_match', 'full_command', 'quorum_max'].find((keyword) => section.line(keyword) !== undefined)
  const refused =
    odd !== undefined
      ? `"${odd}" of "${name}" cannot be done`
      : parameters.length > 0
        ? `"${name}" is known by its parameters, and processes are known by their name alone`
        : quorum?.value === 0
          ? `"${name}" wants no process at all`
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

/** A check under the name that it has here. */
export const checkEntry = (name: string, { fields = {}, line }: Tracked): Written =>
  mapping({ name: written(name, line.words[1]?.at ?? line.at), ...fields }, line.at)
