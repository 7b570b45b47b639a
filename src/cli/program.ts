/**
 * The command line: words to commands, results to output and exit status. Commands are loaded when they
 * are asked for, because `run` must not pay for the others. No command is implemented here.
 */
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { EXIT } from '../app/exit-code.ts'
import { VERSION_AND_COMMIT } from '../app/version.ts'
import type { ApiOverride, ApiWords } from '../config/api-options.ts'
import type { CaptureHost } from './capture/capture.ts'
import type { CommandResult } from './check.ts'
import type { NodeIpWords } from './node-ip.ts'
import type { SimulateWords } from './simulate.ts'
import type { VridWords } from './vrid.ts'

const DEFAULT_CONFIG = '/etc/holdfast/holdfast.yaml'
/** What an engine with --managed remembers; systemd's StateDirectory=holdfast makes the folder. */
const DEFAULT_MEMORY = '/var/lib/holdfast/managed.yaml'
const DEFAULT_SOCKET = '/run/holdfast/holdfast.sock'

type RunWords = {
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

type EventsWords = { socket: string; file?: string; json?: boolean; since?: string; follow?: boolean }

type ExplainWords = {
  socket: string
  file?: string
  recording?: string
  verify?: boolean
  since?: string
  peer?: string[]
  askPeers?: boolean
  json?: boolean
}

type CheckWords = { json?: boolean; strict?: boolean; node?: boolean; keepalived?: boolean }

type StatusWords = { socket: string; json?: boolean; askPeers: boolean }

type YieldWords = { socket: string; all?: boolean; cancel?: boolean; for: string }

type DoctorWords = {
  interface?: string[]
  keepalived?: boolean
  duration?: string
  json?: boolean
  socket: string
  verbose?: boolean
}

/** Returns the exit status. */
export async function main(argv: readonly string[]): Promise<number> {
  if (argv[0] === 'keepalived') {
    const { keepalivedCommand } = await import('./keepalived.ts')
    return keepalivedCommand(argv.slice(1))
  }
  if (argv[0] === 'agent' || argv[0] === 'dynkeepalived') {
    const { agentCommand } = await import('./agent/agent.ts')
    const { exitCode, stdout, stderr } = await agentCommand(argv.slice(1))
    process.stdout.write(stdout)
    process.stderr.write(stderr)
    return exitCode
  }
  let status: number = EXIT.ok
  const print = (result: CommandResult) => {
    process.stdout.write(result.stdout)
    process.stderr.write(result.stderr)
    status = result.exitCode
  }
  const program = new Command('holdfast')
    .description('Keeps virtual IP addresses on exactly one healthy node of a LAN (VRRPv3, RFC 9568)')
    .version(VERSION_AND_COMMIT)
    .exitOverride()
    .showHelpAfterError('(holdfast --help shows the commands)')
    .addHelpText(
      'after',
      `
First steps: holdfast demo, then check FILE, doctor FILE and run -c FILE with a file of your own.
Something is wrong: status, explain and doctor on each node (docs/troubleshooting.md).

Exit status: 0 ok, 1 failure, 64 usage, 69 daemon not reachable, 77 missing privilege, 78 configuration;
doctor: 2 warnings, 3 errors`,
    )

  program
    .command('run')
    .description('run the daemon in the foreground')
    .addOption(
      new Option(
        '-c, --config <file>',
        `configuration (YAML; default: ${DEFAULT_CONFIG}, with --managed ${DEFAULT_MEMORY})`,
      ).conflicts('keepalived'),
    )
    .addOption(
      new Option(
        '--managed',
        'its configuration is handed over at the control socket (holdfast configure, holdfast agent); FILE is its memory',
      ).conflicts('keepalived'),
    )
    .option('--run-directory <dir>', 'with --managed: where sockets and journal are, whatever the configuration says')
    .option('-f, --keepalived <file>', "keepalived's configuration instead, as it is")
    .option('--keepalived-socket <path>', 'with -f: a unix socket that takes the lines reload and stop')
    .option(
      '--listen <address:port>',
      'with -f or --managed: where the API listens (default: 127.0.0.1:9655; false: nowhere)',
    )
    .option('--public', 'with -f or --managed: --listen may be another address than loopback')
    .option(
      '--metrics-compat <names>',
      'with -f or --managed: keepalived-exporter: /metrics has the names of that exporter as well',
    )
    .option(
      '--realtime [priority]',
      'real-time priority, 20 or as --realtime=30: for intervals below 100 ms, or a busy machine',
    )
    .option(
      '--record <file>',
      'write what the engine is told and does into FILE, for holdfast explain --recording (docs/explain.md)',
    )
    .option('--record-limit <size>', 'with --record: it ends at that size, from 64KiB to 1024MiB', '64MiB')
    .option('--core', 'allow a core dump of the engine, to look for a bug')
    .option('--force', 'run beside a keepalived that speaks VRRP in this network namespace')
    .action(async (words: RunWords) => {
      const { config, keepalived: file, keepalivedSocket: socket, core = false, force = false } = words
      const { listen, metricsCompat, public: isPublic, managed: isManaged = false, runDirectory } = words
      const api = await apiOf({ listen, metricsCompat, public: isPublic }, file !== undefined || isManaged)
      const record = await recordOf(words)
      const wrong =
        typeof api === 'string' ? api : typeof record === 'string' ? record : wrongDirectory(runDirectory, isManaged)
      if (wrong !== undefined || typeof api === 'string' || typeof record === 'string')
        return print({ exitCode: EXIT.usage, stdout: '', stderr: `holdfast: ${wrong}\n` })
      const { runCommand } = await import('../app/run.ts')
      if (isManaged) {
        status = await runCommand(config ?? DEFAULT_MEMORY, { core, force, record, managed: { api, runDirectory } })
        return
      }
      const reading = { configId: undefined, allFiles: false, api }
      const keepalived = { reading, socket, pidFile: undefined, vrrpPidFile: undefined, warnings: [] }
      status = await runCommand(file ?? config ?? DEFAULT_CONFIG, {
        core,
        force,
        record,
        ...(file === undefined ? {} : { keepalived }),
      })
    })

  program
    .command('check')
    .description('validate configurations; every problem as file:line:column; exit 0 or 78')
    .argument('<files...>', "YAML, or keepalived's; - is standard input")
    .option('--json', 'as JSON; of several files a list')
    .option('--strict', 'warnings fail as well (exit 78)')
    .option('--node', 'also against the interfaces and addresses of this node')
    .option('-f, --keepalived', "it is keepalived's, also where it does not look like that")
    .action(async (files: string[], words: CheckWords) => {
      const { checkFiles } = await import('./check.ts')
      const { node: isOnNode = false, ...options } = words
      if (!isOnNode) return print(await checkFiles(files, options))
      const { vrrpBeside } = await import('../app/machine/vrrp-beside.ts')
      // Whoever else speaks VRRP here may be the very daemon whose next configuration this is.
      const { refusal } = vrrpBeside(false)
      const beside = refusal === undefined ? [] : [refusal]
      print(await checkFiles(files, { ...options, node: await thisNode(), beside }))
    })

  program
    .command('convert')
    .description("print a keepalived file as holdfast's YAML, and what was not carried over; exit 0 or 78")
    .argument('<file>', 'keepalived.conf, or one like it')
    .option('-i, --config-id <name>', 'what @name lines are compared with (default: the host name)')
    .action(async (file: string, options: { configId?: string }) => {
      const { convertCommand } = await import('./convert.ts')
      print(await convertCommand(file, options.configId))
    })

  program
    .command('status')
    .description('who holds the addresses, and why')
    .argument('[router]', 'name of a virtual router or sync group; without one, all of them')
    .addOption(socketOption())
    .option('--no-ask-peers', 'do not ask the nodes of api.peers in the configuration')
    .option('--json', 'as JSON')
    .action(async (router: string | undefined, { askPeers, json = false, socket }: StatusWords) => {
      const { statusCommand } = await import('./status/status.ts')
      print(await statusCommand(socket, { router, json, asksPeers: askPeers }))
    })

  program
    .command('events')
    .description('what has happened on this node, the oldest first; also when the daemon is down')
    .addOption(socketOption())
    .option('--file <path>', 'the journal, when the daemon does not answer (default: events.jsonl beside the socket)')
    .option('--since <time>', 'not what is older: 12h, 30m, or a moment like 2026-11-22T03:00:00Z')
    .option('-f, --follow', 'go on with what happens')
    .option('--json', 'one JSON object a line')
    .action(async ({ socket, file, json = false, since, follow = false }: EventsWords) => {
      const { eventsCommand, followEvents } = await import('./explain/events.ts')
      const told = await eventsCommand({ socket, file, json, since })
      print(told)
      if (!follow || told.exitCode === EXIT.usage) return
      const end = new AbortController()
      // Whoever reads has gone.
      process.stdout.once('error', () => end.abort())
      await followEvents({ socket, json }, told.latest, (text) => process.stdout.write(text), end.signal)
    })

  program
    .command('explain')
    .description('why an address moved: the events of this node, and of those that are named, as a story')
    .argument('[router]', 'name of a virtual router or sync group; without one, all of them')
    .addOption(socketOption())
    .option('--file <path>', 'the journal, when the daemon does not answer (default: events.jsonl beside the socket)')
    .option(
      '--recording <file>',
      'what holdfast run --record has written, replayed, instead of the journal; says whether the engine does the same again',
    )
    .option('--verify', 'with --recording: only that; exit 1 when it does something else')
    .option(
      '--since <time>',
      'not what is older: 12h, 30m, or a moment like 2026-11-22T03:00:00Z (default: 12h; all of a recording)',
    )
    .option(
      '--peer <url>',
      'another node as well: URL of its API, its run directory, or a copy of its journal or recording; may be repeated',
      (peer: string, all: string[] = []) => [...all, peer],
    )
    .option('--no-ask-peers', 'do not ask the nodes of api.peers in the configuration')
    .option('--json', 'as JSON')
    .addHelpText('after', '\nExit status: 0 told, 64 usage or no such name, 69 neither a daemon nor a journal.')
    .action(
      async (
        router: string | undefined,
        { askPeers: asksPeers = true, json = false, peer: peers = [], since, ...words }: ExplainWords,
      ) => {
        const { file, recording, socket, verify = false } = words
        if (verify && recording === undefined)
          return print({ exitCode: EXIT.usage, stdout: '', stderr: 'holdfast: --verify goes with --recording\n' })
        const { explainCommand } = await import('./explain/explain.ts')
        print(await explainCommand({ router, socket, file, recording, verify, since, peers, asksPeers, json }))
      },
    )

  program
    .command('yield')
    .description('hand addresses to another node, and stay behind it for a while; again: for another time')
    .argument('[router]', 'name of a virtual router or sync group; a sync group moves as a whole')
    .addOption(socketOption())
    .option('--all', 'all that are Active here')
    .addOption(new Option('--cancel', 'end a yield now; without a name, each yield of this node').conflicts('for'))
    .option('--for <duration>', 'how long its priority is 1: 90s, 10m, 2h', '60s')
    .addHelpText(
      'after',
      '\nExit status: 0 another node has them, 1 no node took over or it is not Active here, 64 usage, 69 no daemon.',
    )
    .action(async (router: string | undefined, { socket, ...words }: YieldWords) => {
      const { yieldCommand } = await import('./yield.ts')
      print(await yieldCommand(socket, { router, ...words }))
    })

  program
    .command('reload')
    .description('read the configuration again; exit 78 when it is wrong, then the one in force is kept')
    .addOption(socketOption())
    .option('--dry-run', 'only show what would change')
    .option('--json', 'as JSON')
    .action(async ({ dryRun = false, json = false, socket }: { socket: string; dryRun?: boolean; json?: boolean }) => {
      const { reloadCommand } = await import('./reload.ts')
      print(await reloadCommand(socket, { json, dryRun }))
    })

  program
    .command('configure')
    .description('hand a complete configuration to a daemon that was started with --managed; exit 78 when it is wrong')
    .argument('<file>', 'YAML or JSON; - is standard input')
    .addOption(socketOption())
    .option('--by <name>', 'who hands it over, for status and journal', 'holdfast configure')
    .option('--revision <text>', 'which one it is, in your words')
    .option('--json', 'as JSON')
    .action(async (file: string, options: { socket: string; by: string; revision?: string; json?: boolean }) => {
      const { configureCommand } = await import('./configure.ts')
      print(await configureCommand(file, { ...options, json: options.json === true }))
    })

  program
    .command('stop')
    .description('hand the addresses over and end the daemon, as SIGTERM does; returns when it has left')
    .addOption(socketOption())
    .action(async (options: { socket: string }) => {
      const { stopCommand } = await import('./stop.ts')
      print(await stopCommand(options.socket))
    })

  program
    .command('capture')
    .description(
      'VRRP, ARP and Neighbor Discovery on this LAN, live, with the reason why a packet is discarded; ' +
        'needs CAP_NET_RAW',
    )
    .option('-i, --interface <name>', 'where to listen (default: the only interface with an address)')
    .option('--json', 'one JSON object a line')
    .option('-w, --write <file>', 'also into a pcap file')
    .option('-n, --count <lines>', 'end after so many lines', wholeNumber)
    .action(async (options: { interface?: string; json?: boolean; write?: string; count?: number }) => {
      const { captureCommand } = await import('./capture/capture.ts')
      const { write, count, json = false } = options
      const { close, host } = await captureHost()
      status = await captureCommand({ interfaceName: options.interface, write, count, json }, host)
      close()
    })

  program
    .command('doctor')
    .description('measure this machine and its networks: what is wrong, and how short an interval is safe')
    .argument('[file]', "configuration, YAML or keepalived's; without one the machine alone")
    .option(
      '-i, --interface <name>',
      'also look at this interface; may be repeated',
      (name: string, all: string[] = []) => [...all, name],
    )
    .option('-f, --keepalived', "the file is keepalived's, also where it does not look like that")
    .option('-d, --duration <time>', 'how long to measure (default: 5s, or 3 of the intervals of the file)')
    .option('-v, --verbose', 'also what is ok')
    .option('--json', 'as JSON')
    .addOption(socketOption())
    .addHelpText(
      'after',
      '\nExit status: 0 nothing worse than a note, 2 warnings, 3 errors, 1 it could not be done, 64 usage, 78 configuration.' +
        '\nHarmless beside a running daemon: no advertisement is sent, no address changed (docs/doctor.md).',
    )
    .action(async (file: string | undefined, options: DoctorWords) => {
      const { doctorCommand } = await import('./doctor/doctor.ts')
      const {
        duration,
        interface: interfaces = [],
        json = false,
        keepalived = false,
        socket,
        verbose = false,
      } = options
      print(await doctorCommand({ file, keepalived, interfaces, json, socket, verbose, duration }))
    })

  program
    .command('doctor-timer', { hidden: true })
    .argument('<ms>')
    .action(async (ms: string) => {
      const { measureTimer } = await import('./doctor/doctor-timer.ts')
      process.stdout.write(JSON.stringify(await measureTimer(Number(ms))))
    })

  program
    .command('demo')
    .description(
      'three nodes in network namespaces, one failover, measured; as root, changes nothing else, takes seconds',
    )
    .action(async () => {
      const { demoCommand } = await import('./demo/demo.ts')
      status = await demoCommand()
    })

  program
    .command('simulate')
    .description(
      'what would happen: this engine on simulated nodes with your configurations and a list of faults (docs/simulate.md)',
    )
    .argument('<scenario>', 'YAML: nodes with their configurations, and faults with their times')
    .option('--log', 'what each node does and logs as well')
    .addOption(
      new Option('--expect', 'for CI: exit 1 also when a failed check would not move its address').conflicts('weights'),
    )
    .option('--no-weights', 'do not try whether each health check moves its addresses')
    .option('--json', 'as JSON')
    .action(async (scenario: string, words: SimulateWords) => {
      const { simulateCommand } = await import('./simulate.ts')
      print(simulateCommand(scenario, words))
    })

  program
    .command('vrid')
    .description('the VRIDs of an OpenShift cluster by its name; exit 1 if a cluster beside it has one of them')
    .argument('<name>', "the cluster's name")
    .option('--api <vrid>', 'another one for the API')
    .option('--ingress <vrid>', 'another one for ingress')
    .option(
      '--beside <name>',
      'another cluster on the same LAN; may be repeated',
      (other: string, all: string[] = []) => [...all, other],
    )
    .option('--json', 'as JSON')
    .action(async (name: string, words: Omit<VridWords, 'beside'> & { beside?: string[] }) => {
      const { vridCommand } = await import('./vrid.ts')
      print(vridCommand(name, { ...words, beside: words.beside ?? [] }))
    })

  const nodeIp = program
    .command('node-ip')
    .description("which address is the node's own, for kubelet, CRI-O, OVN and the VIPs (as runtimecfg node-ip)")
  const nodeIpActions = [
    ['show', 'print it'],
    ['set', 'write it down in /run/nodeip-configuration and for kubelet and CRI-O, once per boot'],
    ['explain', 'every address of this node, and why it was chosen or not'],
  ] as const
  for (const [action, description] of nodeIpActions) {
    nodeIp
      .command(action)
      .description(description)
      .argument('[values...]', 'VIPs; or a hint: an address in the wanted network that no node has')
      .option('-r, --retry-on-failure', 'wait until there is an address')
      .option('-6, --prefer-ipv6', 'IPv6 first where the node has both')
      .option('-n, --network-type <name>', "whose internal addresses don't count", 'OVNKubernetes')
      .option('-l, --user-managed-lb', 'VIPs are not on these nodes: no node is remote to them')
      .option('-p, --platform <name>', 'as in the Infrastructure resource', '')
      .option('--hint-file <file>', 'has NODEIP_HINT= or KUBELET_NODEIP_HINT=', '/etc/default/nodeip-configuration')
      .option('--root <dir>', 'where the files are; addresses are always those of this machine', '/')
      .option('--json', 'as JSON (show, explain)')
      .action(async (values: string[], words: Omit<NodeIpWords, 'values'>) => {
        const { nodeIpCommand } = await import('./node-ip.ts')
        print(await nodeIpCommand(action, { ...words, values }))
      })
  }

  // Its words are dynkeepalived's, read before these (agent-flags.ts); here for the help alone.
  program
    .command('agent')
    .description(
      'beside the engine on a node of OpenShift: peers from the cluster (as dynkeepalived; --help for its flags)',
    )

  program
    .command('schema')
    .argument('[of]', 'config, status or events', 'config')
    .description('JSON Schema of the configuration, or of what /v1/status and /v1/events answer')
    .action(async (of: string) => {
      const { schemaCommand } = await import('./schema.ts')
      print(schemaCommand(of))
    })

  // Subcommands are made by now and go on to suggest options.
  for (const command of [program, nodeIp]) command.showSuggestionAfterError(false)
  try {
    await program.parseAsync([...argv], { from: 'user' })
  } catch (error) {
    // --help and --version end the same way as a wrong word; commander has printed already.
    if (error instanceof CommanderError) {
      if (error.code === 'commander.unknownCommand') await suggestCommand(argv)
      return error.exitCode === 0 ? EXIT.ok : EXIT.usage
    }
    if (!isWorldsFault(error)) throw error
    process.stderr.write(`holdfast: ${error.message}\n`)
    return EXIT.failure
  }
  return status
}

/** What changes nothing: no other command is suggested for a word with a mistake. */
const HARMLESS = ['check', 'convert', 'status', 'events', 'explain', 'capture', 'doctor', 'simulate', 'vrid', 'schema']

async function suggestCommand(argv: readonly string[]): Promise<void> {
  const { nearestWord } = await import('../config/text/spelling.ts')
  const meant = argv[0] === undefined ? undefined : nearestWord(argv[0], HARMLESS)
  if (meant !== undefined) process.stderr.write(`(Did you mean ${meant}?)\n`)
}

const socketOption = () =>
  new Option('-s, --socket <path>', 'control socket of the daemon').env('HOLDFAST_SOCKET').default(DEFAULT_SOCKET)

/** Or why not. Loaded only when something was said: a start without pays nothing. */
async function apiOf(words: ApiWords, isAllowed: boolean): Promise<ApiOverride | string | undefined> {
  if (Object.values(words).every((word) => word === undefined)) return undefined
  if (!isAllowed)
    return '--listen, --public and --metrics-compat go with -f or --managed: in YAML they are keys of "api"'
  const { apiOverride } = await import('../config/api-options.ts')
  return apiOverride(words)
}

/** Or why not. */
async function recordOf({ record: path, recordLimit }: Pick<RunWords, 'record' | 'recordLimit'>) {
  if (path === undefined) return undefined
  const { octets } = await import('../config/schema/field.ts')
  const limit = octets(64 * 1024, 1024 * 1024 * 1024).safeParse(recordLimit)
  if (limit.success) return { path, limit: limit.data }
  return `Cannot use ${recordLimit} as --record-limit: ${limit.error.issues.map(({ message }) => message).join(', ')}`
}

function wrongDirectory(runDirectory: string | undefined, isManaged: boolean): string | undefined {
  if (runDirectory === undefined) return undefined
  if (!isManaged) return '--run-directory goes with --managed: in YAML it is "runDirectory"'
  return runDirectory.startsWith('/')
    ? undefined
    : `Cannot use ${runDirectory} as --run-directory: absolute path wanted`
}

/** No addon for this machine, a system call that failed: one line. Ours is a crash with its stack. */
function isWorldsFault(error: unknown): error is Error {
  return error instanceof Error && (('code' in error && error.code === 'ERR_NATIVE_ADDON') || 'syscall' in error)
}

function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('a whole number of lines wanted')
  return Number(text)
}

/** The interfaces and frames of this network namespace. */
async function captureHost() {
  const { openClock } = await import('../linux/clock.ts')
  const { openLanTap } = await import('../linux/sockets/frame-tap.ts')
  const { loadNative } = await import('../linux/native.ts')
  const { openNetwork } = await import('../linux/network.ts')
  const { captureInterfaces } = await import('./capture/capture-interface.ts')
  const native = loadNative()
  const network = openNetwork(native, openClock(native))
  const host: CaptureHost = {
    look: () => captureInterfaces(network),
    openTap: (options) => openLanTap(native, options),
  }
  return { host, close: () => network.close() }
}

async function thisNode() {
  const { openClock } = await import('../linux/clock.ts')
  const { loadNative } = await import('../linux/native.ts')
  const { openNetwork } = await import('../linux/network.ts')
  const { nodeView } = await import('../app/machine/node.ts')
  const native = loadNative()
  const network = openNetwork(native, openClock(native))
  try {
    return nodeView(network)
  } finally {
    network.close()
  }
}
