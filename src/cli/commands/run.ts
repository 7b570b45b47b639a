/** `holdfast run`: its options, and the settings that follow from them. */
import { Option } from 'commander'
import type { RunOptions } from '../../app/start.ts'
import { refusedValue } from '../../base/refused-value.ts'
import type { ApiOptions, ApiOverride } from '../../config/api-options.ts'
import { type CommandResult, type Register, usage } from '../command.ts'

const DEFAULT_CONFIG = '/etc/holdfast/holdfast.yaml'
/**
 * File that stores the configuration of an engine with --managed. StateDirectory=holdfast in the systemd unit makes the
 * folder.
 */
const DEFAULT_MEMORY = '/var/lib/holdfast/managed.yaml'

type Options = {
  config?: string
  managed?: boolean
  runDirectory?: string
  keepalived?: string
  keepalivedSocket?: string
  listen?: string
  public?: boolean
  metricsCompat?: string
  core?: boolean
  force?: boolean
  record?: string
  recordLimit: string
}

export const registerRun: Register = (program, end) => {
  const run = program.command('run').description('run the daemon in the foreground')
  run
    .addOption(
      new Option(
        '-c, --config <file>',
        `configuration (YAML; default: ${DEFAULT_CONFIG}, with --managed ${DEFAULT_MEMORY})`,
      ).conflicts('keepalived'),
    )
    .addOption(
      new Option(
        '--managed',
        'take the configuration from holdfast configure or holdfast agent over the control socket; FILE stores it',
      ).conflicts('keepalived'),
    )
    .option(
      '--run-directory <dir>',
      'with --managed: folder of sockets and journal, in place of runDirectory in the configuration',
    )
    .option('-f, --keepalived <file>', 'use this keepalived configuration, unchanged')
    .option('--keepalived-socket <path>', 'with -f: unix socket that accepts the lines reload and stop')
    .option(
      '--listen <address:port>',
      'with -f or --managed: address of the HTTP API (default: 127.0.0.1:9655; false: no API)',
    )
    .option('--public', 'with -f or --managed: --listen may be another address than loopback')
    .option(
      '--metrics-compat <names>',
      'with -f or --managed: additional metric names; keepalived-exporter is the only value',
    )
    .option('--realtime [priority]', 'real-time priority, for intervals below 100 ms or a busy machine (default: 20)')
    .option(
      '--record <file>',
      'record inputs and outputs of the engine in FILE, for holdfast explain --recording (docs/explain.md)',
    )
    .option('--record-limit <size>', 'with --record: size at which the recording ends, from 64KiB to 1024MiB', '64MiB')
    .option('--core', 'allow a core dump of the engine, to find a bug')
    .option('--force', 'start even if keepalived speaks VRRP in this network namespace')
    .action(async (options: Options) => {
      const order = await runOrder(options)
      if ('exitCode' in order) return end(order)
      const { runCommand } = await import('../../app/run.ts')
      end(await runCommand(order.file, order.options))
    })
}

/** Returns the file and the options of the daemon, or a usage error. */
async function runOrder(options: Options): Promise<{ file: string; options: RunOptions } | CommandResult> {
  const { config, keepalived: file, keepalivedSocket: socket, core = false, force = false } = options
  const { listen, metricsCompat, public: isPublic, managed: isManaged = false, runDirectory } = options
  const api = await apiOf({ listen, metricsCompat, public: isPublic }, file !== undefined || isManaged)
  if (typeof api === 'string') return usage(api)
  const record = await recordOf(options)
  if (typeof record === 'string') return usage(record)
  const wrong = directoryProblem(runDirectory, isManaged)
  if (wrong !== undefined) return usage(wrong)
  const common = { core, force, record }
  if (isManaged) return { file: config ?? DEFAULT_MEMORY, options: { ...common, managed: { api, runDirectory } } }
  if (file === undefined) return { file: config ?? DEFAULT_CONFIG, options: common }
  const reading = { configId: undefined, allFiles: false, api }
  return {
    file,
    options: { ...common, keepalived: { reading, socket, pidFile: undefined, vrrpPidFile: undefined, warnings: [] } },
  }
}

/**
 * Returns the settings of `api` from the command line, `undefined` without such options, or an error text. Loads the
 * schema only if one of these options is given.
 */
async function apiOf(options: ApiOptions, isAllowed: boolean): Promise<ApiOverride | string | undefined> {
  if (Object.values(options).every((value) => value === undefined)) return undefined
  if (!isAllowed)
    return '--listen, --public and --metrics-compat go with -f or --managed: in YAML they are keys of "api"'
  const { apiOverride } = await import('../../config/api-options.ts')
  return apiOverride(options)
}

/** Returns the recording's settings, `undefined` without --record, or a text if the limit is wrong. */
async function recordOf({ record: path, recordLimit }: Pick<Options, 'record' | 'recordLimit'>) {
  if (path === undefined) return undefined
  const { octets } = await import('../../config/schema/field.ts')
  const limit = octets(64 * 1024, 1024 * 1024 * 1024).safeParse(recordLimit)
  if (limit.success) return { path, limit: limit.data }
  return refusedValue('--record-limit', recordLimit, limit.error.issues.map(({ message }) => message).join(', '))
}

function directoryProblem(runDirectory: string | undefined, isManaged: boolean): string | undefined {
  if (runDirectory === undefined) return undefined
  if (!isManaged) return '--run-directory goes with --managed: in YAML it is "runDirectory"'
  return runDirectory.startsWith('/') ? undefined : refusedValue('--run-directory', runDirectory, 'an absolute path')
}
