/**
 * keepalived's command line as its manual page and its 2.2.7 binary know it, and what becomes of each flag here: done,
 * without effect (and why nothing differs), not supported (a sentence at the start), refused (it would be another
 * daemon). Decided here: the table, and that an unknown word is refused as keepalived refuses it. Pure: words in, an
 * order out. Refuses to know how an order is carried out.
 */

import { apiOverride } from '../config/api-options.ts'
import type { KeepalivedReading } from '../files/configuration-language.ts'

export type Fate = 'done' | 'noEffect' | 'notSupported' | 'refused'

export type Flag = {
  readonly short?: string
  readonly long: string
  /** `maybe`: only in the same word, -tFILE or --config-test=FILE. */
  readonly value?: 'wanted' | 'maybe'
  readonly fate: Fate
  /** What becomes of it, or why it does not matter. */
  readonly says: string
  /** What bin/holdfast does about it: no background, a core dump of the engine, or Node without a guardian, which answers. */
  readonly launcher?: 'foreground' | 'core' | 'answer'
}

export const FLAGS: readonly Flag[] = [
  { short: 'f', long: 'use-file', value: 'wanted', fate: 'done', says: 'the configuration file' },
  { short: 'P', long: 'vrrp', fate: 'done', says: 'VRRP is all that holdfast does' },
  { short: 'C', long: 'check', fate: 'refused', says: 'holdfast checks no virtual servers' },
  { short: 'B', long: 'no_bfd', fate: 'noEffect', says: 'holdfast runs no BFD' },
  { long: 'all', fate: 'noEffect', says: 'there is one engine, and it always runs' },
  { short: 'l', long: 'log-console', fate: 'noEffect', says: 'the log always goes to standard output' },
  { short: 'D', long: 'log-detail', fate: 'noEffect', says: 'the log always has its details' },
  { short: 'S', long: 'log-facility', value: 'wanted', fate: 'noEffect', says: 'the log does not go to syslog' },
  { short: 'G', long: 'no-syslog', fate: 'noEffect', says: 'the log does not go to syslog' },
  {
    short: 'g',
    long: 'log-file',
    value: 'maybe',
    fate: 'notSupported',
    says: 'the log goes to standard output: send it to a file from there',
  },
  { long: 'flush-log-file', fate: 'noEffect', says: 'holdfast writes no log file' },
  {
    short: 'u',
    long: 'umask',
    value: 'wanted',
    fate: 'noEffect',
    says: 'each file that holdfast writes has its own mode',
  },
  {
    short: 'X',
    long: 'release-vips',
    fate: 'noEffect',
    says: 'holdfast always takes its addresses off when it leaves',
  },
  {
    short: 'V',
    long: 'dont-release-vrrp',
    fate: 'notSupported',
    says: 'the addresses are taken off all the same when the daemon leaves: left behind they would have two owners',
  },
  { short: 'I', long: 'dont-release-ipvs', fate: 'noEffect', says: 'holdfast never touches IPVS' },
  {
    short: 'R',
    long: 'dont-respawn',
    fate: 'noEffect',
    says: 'an engine that has ended is never started again from inside',
  },
  { short: 'n', long: 'dont-fork', fate: 'done', says: 'stays in the foreground', launcher: 'foreground' },
  {
    short: 'd',
    long: 'dump-conf',
    fate: 'notSupported',
    says: 'the configuration is not written into the log: holdfast convert prints it, SIGUSR1 writes what is in force',
  },
  { short: 'p', long: 'pid', value: 'wanted', fate: 'done', says: 'the pid of the process that takes the signals' },
  { short: 'r', long: 'vrrp_pid', value: 'wanted', fate: 'done', says: 'the pid of the engine' },
  { short: 'T', long: 'genhash', fate: 'refused', says: 'holdfast has no genhash', launcher: 'answer' },
  { short: 'c', long: 'checkers_pid', value: 'wanted', fate: 'noEffect', says: 'there is no such process' },
  {
    short: 'a',
    long: 'address-monitoring',
    fate: 'notSupported',
    says: 'the log tells of the virtual addresses only, not of every address of the node',
  },
  { short: 'b', long: 'bfd_pid', value: 'wanted', fate: 'noEffect', says: 'there is no such process' },
  { short: 'x', long: 'snmp', fate: 'notSupported', says: 'there is no SNMP: the port of the API serves /metrics' },
  { short: 'A', long: 'snmp-agent-socket', value: 'wanted', fate: 'notSupported', says: 'there is no SNMP' },
  {
    short: 's',
    long: 'namespace',
    value: 'wanted',
    fate: 'refused',
    says: 'start it in the namespace instead: ip netns exec NAME holdfast run -f FILE',
  },
  { short: 'm', long: 'core-dump', fate: 'done', says: 'the engine may write a core dump', launcher: 'core' },
  {
    short: 'M',
    long: 'core-dump-pattern',
    value: 'maybe',
    fate: 'notSupported',
    says: "the node's core_pattern is not changed",
  },
  { short: 'e', long: 'all-config', fate: 'done', says: 'a file that is missing is an error' },
  { short: 'i', long: 'config-id', value: 'wanted', fate: 'done', says: 'which lines with an @ count' },
  { long: 'signum', value: 'wanted', fate: 'done', says: 'prints the number of a signal', launcher: 'answer' },
  { short: 't', long: 'config-test', value: 'maybe', fate: 'done', says: 'judges the file', launcher: 'answer' },
  { short: 'v', long: 'version', fate: 'done', says: 'prints the version', launcher: 'answer' },
  { short: 'h', long: 'help', fate: 'done', says: 'prints the flags', launcher: 'answer' },
  // Ours, because a node that starts keepalived has nowhere else to say it.
  { long: 'realtime', value: 'maybe', fate: 'done', says: 'real-time priority, as in holdfast run' },
  { long: 'force', fate: 'done', says: 'also beside another keepalived, as in holdfast run' },
  { long: 'keepalived-socket', value: 'wanted', fate: 'done', says: 'a socket that takes reload and stop' },
  {
    long: 'listen',
    value: 'wanted',
    fate: 'done',
    says: 'where the API listens (default: 127.0.0.1:9655; false: nowhere)',
  },
  { long: 'public', fate: 'done', says: '--listen may be another address than loopback' },
  {
    long: 'metrics-compat',
    value: 'wanted',
    fate: 'done',
    says: 'keepalived-exporter: /metrics has the names of that exporter as well',
  },
]

export type RunOrder = {
  readonly do: 'run'
  readonly file: string
  readonly background: boolean
  readonly pidFile: string | undefined
  readonly vrrpPidFile: string | undefined
  readonly core: boolean
  readonly force: boolean
  readonly socket: string | undefined
  /** What keepalived would do and this does not. */
  readonly warnings: readonly string[]
} & KeepalivedReading

export type KeepalivedOrder =
  | RunOrder
  | ({ readonly do: 'test'; readonly file: string; readonly log: string | undefined } & KeepalivedReading)
  | { readonly do: 'version' | 'help' }
  | { readonly do: 'signum'; readonly name: string }
  | { readonly do: 'refuse'; readonly message: string }

export const DEFAULT_FILE = '/etc/keepalived/keepalived.conf'

type Given = { readonly flag: Flag; readonly value: string | undefined }

export function keepalivedOrder(argv: readonly string[]): KeepalivedOrder {
  const read = givenFlags(argv)
  if (typeof read === 'string') return { do: 'refuse', message: read }
  const given = new Map(read.map(({ flag, value }) => [flag.long, value] as const))
  if (given.has('version')) return { do: 'version' }
  if (given.has('help')) return { do: 'help' }
  const signum = given.get('signum')
  if (signum !== undefined) return { do: 'signum', name: signum }
  for (const { flag } of read) {
    // With VRRP asked for as well, the checker is what is left out.
    if (flag.fate === 'refused' && !(flag.long === 'check' && given.has('vrrp')))
      return { do: 'refuse', message: `${words(flag)}: ${flag.says}` }
  }
  const file = given.get('use-file') ?? DEFAULT_FILE
  const api = apiOverride({
    listen: given.get('listen'),
    public: given.has('public') ? true : undefined,
    metricsCompat: given.get('metrics-compat'),
  })
  if (typeof api === 'string') return { do: 'refuse', message: api }
  const reading = { configId: given.get('config-id'), allFiles: given.has('all-config'), api }
  if (given.has('config-test')) return { do: 'test', file, log: given.get('config-test'), ...reading }
  return {
    do: 'run',
    file,
    background: !given.has('dont-fork'),
    pidFile: given.get('pid'),
    vrrpPidFile: given.get('vrrp_pid'),
    core: given.has('core-dump'),
    force: given.has('force'),
    socket: given.get('keepalived-socket'),
    warnings: read.flatMap(({ flag }) =>
      flag.fate === 'done' || flag.fate === 'noEffect' ? [] : [`${words(flag)}: ${flag.says}`],
    ),
    ...reading,
  }
}

const words = ({ short, long }: Flag): string => (short === undefined ? `--${long}` : `-${short}, --${long}`)

/** Or why not. The way of getopt_long(3): -nPf FILE, -fFILE, --use-file=FILE, --use-file FILE, -- at the end. */
function givenFlags(argv: readonly string[]): Given[] | string {
  const given: Given[] = []
  const rest = [...argv]
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word === '--' && rest.length === 0) break
    if (!word.startsWith('-') || word === '-' || word === '--') return `Unexpected argument: ${word}`
    const read = word.startsWith('--') ? longFlag(word.slice(2), rest) : shortFlags(word.slice(1), rest)
    if (typeof read === 'string') return read
    given.push(...read)
  }
  return given
}

function longFlag(word: string, rest: string[]): Given[] | string {
  const [, name = '', , value] = /^([^=]*)(=(.*))?$/s.exec(word) ?? []
  // No abbreviations: bin/holdfast reads the same flags, by their full names.
  const flag = FLAGS.find(({ long }) => long === name)
  if (flag === undefined) return `Unknown option --${name}`
  if (flag.value === undefined)
    return value === undefined ? [{ flag, value }] : `The option --${flag.long} takes no value`
  const taken = flag.value === 'wanted' ? (value ?? rest.shift()) : value
  return flag.value === 'wanted' && taken === undefined
    ? `Missing value for option --${flag.long}`
    : [{ flag, value: taken }]
}

function shortFlags(letters: string, rest: string[]): Given[] | string {
  const given: Given[] = []
  for (let i = 0; i < letters.length; i++) {
    const flag = FLAGS.find(({ short }) => short === letters[i])
    if (flag === undefined) return `Unknown option -${letters[i]}`
    if (flag.value === undefined) {
      given.push({ flag, value: undefined })
      continue
    }
    const attached = letters.slice(i + 1)
    const value = attached !== '' ? attached : flag.value === 'wanted' ? rest.shift() : undefined
    if (flag.value === 'wanted' && value === undefined) return `Missing value for option -${flag.short}`
    given.push({ flag, value })
    break
  }
  return given
}

const WORD: Readonly<Record<Fate, string>> = {
  done: '',
  noEffect: 'without effect: ',
  notSupported: 'not supported: ',
  refused: 'refused: ',
}

export function keepalivedHelp(): string {
  const names = FLAGS.map(
    (flag) => `${words(flag)}${flag.value === undefined ? '' : flag.value === 'wanted' ? '=VALUE' : '[=VALUE]'}`,
  )
  const width = Math.max(...names.map((name) => name.length))
  const lines = FLAGS.map(({ fate, says }, i) => `  ${(names[i] ?? '').padEnd(width)}  ${WORD[fate]}${says}`)
  return [
    'Usage: keepalived [OPTION...]',
    'holdfast in the place of keepalived: it takes its flags and its configuration file (docs/pod-contract.md).',
    ...lines,
    '',
  ].join('\n')
}

/** What keepalived's own names for its signals are here. The others mean something to it alone. */
export const SIGNALS: Readonly<Record<string, number>> = { STOP: 15, RELOAD: 1, DATA: 10, STATS: 12 }
