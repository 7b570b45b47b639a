/**
 * keepalived's command line, as in its manual page and in version 2.2.7, and the handling of each flag: done, without
 * effect (with the reason), not supported (with a message at the start), or refused (the result would be another
 * daemon). An unknown option is refused, as in keepalived. The functions are pure: they convert a command line to an
 * order. This file knows nothing about how an order is executed.
 */

import { refusedValue } from '../base/refused-value.ts'
import { apiOverride } from '../config/api-options.ts'
import type { KeepalivedReading } from '../files/configuration-language.ts'

export type Handling = 'done' | 'noEffect' | 'notSupported' | 'refused'

export type Flag = {
  readonly short?: string
  readonly long: string
  /** `maybe`: the value is part of the same argument, as in -tFILE or --config-test=FILE. */
  readonly value?: 'wanted' | 'maybe'
  readonly handling: Handling
  /** Text for the user: the effect of the flag, or the reason why the flag has no effect. */
  readonly says: string
  /** Handling in bin/holdfast: no background, a core dump of the engine, or Node without a guardian, which answers. */
  readonly launcher?: 'foreground' | 'core' | 'answer'
}

export const FLAGS: readonly Flag[] = [
  { short: 'f', long: 'use-file', value: 'wanted', handling: 'done', says: 'the configuration file' },
  { short: 'P', long: 'vrrp', handling: 'done', says: 'holdfast always runs VRRP, and nothing else' },
  { short: 'C', long: 'check', handling: 'refused', says: 'holdfast does not check virtual servers' },
  { short: 'B', long: 'no_bfd', handling: 'noEffect', says: 'holdfast has no BFD' },
  { long: 'all', handling: 'noEffect', says: 'holdfast has one engine, which always runs' },
  { short: 'l', long: 'log-console', handling: 'noEffect', says: 'the log always goes to standard output' },
  { short: 'D', long: 'log-detail', handling: 'noEffect', says: 'the log always has its details' },
  { short: 'S', long: 'log-facility', value: 'wanted', handling: 'noEffect', says: 'the log does not go to syslog' },
  { short: 'G', long: 'no-syslog', handling: 'noEffect', says: 'the log does not go to syslog' },
  {
    short: 'g',
    long: 'log-file',
    value: 'maybe',
    handling: 'notSupported',
    says: 'the log goes to standard output: redirect it to a file',
  },
  { long: 'flush-log-file', handling: 'noEffect', says: 'holdfast writes no log file' },
  {
    short: 'u',
    long: 'umask',
    value: 'wanted',
    handling: 'noEffect',
    says: 'holdfast sets the mode of each file that it writes',
  },
  {
    short: 'X',
    long: 'release-vips',
    handling: 'noEffect',
    says: 'holdfast always removes its addresses when it stops',
  },
  {
    short: 'V',
    long: 'dont-release-vrrp',
    handling: 'notSupported',
    says: 'holdfast always removes its addresses when it stops: otherwise two nodes would hold them',
  },
  { short: 'I', long: 'dont-release-ipvs', handling: 'noEffect', says: 'holdfast never touches IPVS' },
  {
    short: 'R',
    long: 'dont-respawn',
    handling: 'noEffect',
    says: 'holdfast never restarts its engine by itself',
  },
  { short: 'n', long: 'dont-fork', handling: 'done', says: 'stays in the foreground', launcher: 'foreground' },
  {
    short: 'd',
    long: 'dump-conf',
    handling: 'notSupported',
    says: 'the configuration is not written to the log: holdfast convert prints it, and SIGUSR1 writes the configuration in force to a file',
  },
  {
    short: 'p',
    long: 'pid',
    value: 'wanted',
    handling: 'done',
    says: 'file for the pid of the process that takes the signals',
  },
  { short: 'r', long: 'vrrp_pid', value: 'wanted', handling: 'done', says: 'file for the pid of the engine' },
  { short: 'T', long: 'genhash', handling: 'refused', says: 'holdfast has no genhash', launcher: 'answer' },
  { short: 'c', long: 'checkers_pid', value: 'wanted', handling: 'noEffect', says: 'holdfast has no such process' },
  {
    short: 'a',
    long: 'address-monitoring',
    handling: 'notSupported',
    says: 'the log reports virtual addresses only, not every address of the node',
  },
  { short: 'b', long: 'bfd_pid', value: 'wanted', handling: 'noEffect', says: 'holdfast has no such process' },
  { short: 'x', long: 'snmp', handling: 'notSupported', says: 'holdfast has no SNMP: use /metrics of the API' },
  { short: 'A', long: 'snmp-agent-socket', value: 'wanted', handling: 'notSupported', says: 'holdfast has no SNMP' },
  {
    short: 's',
    long: 'namespace',
    value: 'wanted',
    handling: 'refused',
    says: 'start holdfast in the namespace instead: ip netns exec NAME holdfast run -f FILE',
  },
  { short: 'm', long: 'core-dump', handling: 'done', says: 'the engine may write a core dump', launcher: 'core' },
  {
    short: 'M',
    long: 'core-dump-pattern',
    value: 'maybe',
    handling: 'notSupported',
    says: "the node's core_pattern is not changed",
  },
  { short: 'e', long: 'all-config', handling: 'done', says: 'a missing file is an error' },
  {
    short: 'i',
    long: 'config-id',
    value: 'wanted',
    handling: 'done',
    says: 'name that lines with an @ are compared with',
  },
  { long: 'signum', value: 'wanted', handling: 'done', says: 'prints the number of a signal', launcher: 'answer' },
  { short: 't', long: 'config-test', value: 'maybe', handling: 'done', says: 'checks the file', launcher: 'answer' },
  { short: 'v', long: 'version', handling: 'done', says: 'prints the version', launcher: 'answer' },
  { short: 'h', long: 'help', handling: 'done', says: 'prints the flags', launcher: 'answer' },
  // Flags of holdfast, because a node that starts keepalived has no other place for them.
  { long: 'realtime', value: 'maybe', handling: 'done', says: 'real-time priority, as in holdfast run' },
  { long: 'force', handling: 'done', says: 'start even if another keepalived runs, as in holdfast run' },
  { long: 'keepalived-socket', value: 'wanted', handling: 'done', says: 'socket that accepts reload and stop' },
  {
    long: 'listen',
    value: 'wanted',
    handling: 'done',
    says: 'address of the API (default: 127.0.0.1:9655; false: none)',
  },
  { long: 'public', handling: 'done', says: 'allows an address other than loopback in --listen' },
  {
    long: 'metrics-compat',
    value: 'wanted',
    handling: 'done',
    says: 'keepalived-exporter: /metrics has the metric names of that exporter as well',
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
  /** Texts about features of keepalived that holdfast does not have. */
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

/** Returns the order that a command line of keepalived gives. */
export function keepalivedOrder(argv: readonly string[]): KeepalivedOrder {
  const read = givenFlags(argv)
  if (typeof read === 'string') return { do: 'refuse', message: read }
  const given = new Map(read.map(({ flag, value }) => [flag.long, value] as const))
  if (given.has('version')) return { do: 'version' }
  if (given.has('help')) return { do: 'help' }
  const signum = given.get('signum')
  if (signum !== undefined) return { do: 'signum', name: signum }
  for (const { flag } of read) {
    // With --vrrp as well, only the checker is left out.
    if (flag.handling === 'refused' && !(flag.long === 'check' && given.has('vrrp')))
      return { do: 'refuse', message: `${nameOf(flag)}: ${flag.says}` }
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
      flag.handling === 'done' || flag.handling === 'noEffect' ? [] : [`${nameOf(flag)}: ${flag.says}`],
    ),
    ...reading,
  }
}

const nameOf = ({ short, long }: Flag): string => (short === undefined ? `--${long}` : `-${short}, --${long}`)

/**
 * Returns the parsed flags, or the text of the error. The syntax is that of getopt_long(3): -nPf FILE, -fFILE,
 * --use-file=FILE, --use-file FILE, and -- at the end.
 */
function givenFlags(argv: readonly string[]): Given[] | string {
  const given: Given[] = []
  const rest = [...argv]
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word === '--' && rest.length === 0) break
    if (!word.startsWith('-') || word === '-' || word === '--') return refusedValue('arguments', word, 'flags only')
    const read = word.startsWith('--') ? longFlag(word.slice(2), rest) : shortFlags(word.slice(1), rest)
    if (typeof read === 'string') return read
    given.push(...read)
  }
  return given
}

function longFlag(word: string, rest: string[]): Given[] | string {
  const [, name = '', , value] = /^([^=]*)(=(.*))?$/s.exec(word) ?? []
  // Abbreviated flags are not accepted, because bin/holdfast reads the same flags by their full names.
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

const PREFIX: Readonly<Record<Handling, string>> = {
  done: '',
  noEffect: 'without effect: ',
  notSupported: 'not supported: ',
  refused: 'refused: ',
}

/** Returns the text that --help prints. */
export function keepalivedHelp(): string {
  const names = FLAGS.map(
    (flag) => `${nameOf(flag)}${flag.value === undefined ? '' : flag.value === 'wanted' ? '=VALUE' : '[=VALUE]'}`,
  )
  const width = Math.max(...names.map((name) => name.length))
  const lines = FLAGS.map(({ handling, says }, i) => `  ${(names[i] ?? '').padEnd(width)}  ${PREFIX[handling]}${says}`)
  return [
    'Usage: keepalived [OPTION...]',
    "holdfast under the name of keepalived: it accepts keepalived's flags and configuration file (docs/pod-contract.md).",
    ...lines,
    '',
  ].join('\n')
}

/**
 * Numbers of the signals that holdfast knows by keepalived's names. keepalived has further names without a meaning
 * here.
 */
export const SIGNALS: Readonly<Record<string, number>> = { STOP: 15, RELOAD: 1, DATA: 10, STATS: 12 }
