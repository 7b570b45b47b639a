/**
 * The command line (design.md §4): words to commands, results to output and exit status. Commands are loaded when they
 * are asked for, because `run` must not pay for the others. No command is implemented here.
 */
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import type { CommandResult } from './check.ts'
import { EXIT } from './exit-code.ts'
import { VERSION } from './version.ts'

const DEFAULT_CONFIG = '/etc/holdfast/holdfast.yaml'
const DEFAULT_SOCKET = '/run/holdfast/holdfast.sock'

type RunWords = {
  config: string
  keepalived?: string
  keepalivedSocket?: string
  core?: boolean
  force?: boolean
}

type DoctorWords = { interface: string[]; keepalived?: boolean; duration?: string; json?: boolean }

/** Returns the exit status. */
export async function main(argv: readonly string[]): Promise<number> {
  if (argv[0] === 'keepalived') {
    const { keepalivedCommand } = await import('./keepalived.ts')
    return keepalivedCommand(argv.slice(1))
  }
  let status: number = EXIT.ok
  const print = (result: CommandResult) => {
    process.stdout.write(result.stdout)
    process.stderr.write(result.stderr)
    status = result.exitCode
  }
  const program = new Command('holdfast')
    .description('Keeps virtual IP addresses on exactly one healthy node of a LAN (VRRPv3, RFC 9568)')
    .version(VERSION)
    .exitOverride()
    .showHelpAfterError('(holdfast --help shows the commands)')
    .addHelpText(
      'after',
      '\nExit status: 0 ok, 1 failure, 64 usage, 69 daemon not reachable, 77 missing privilege, 78 configuration; ' +
        'doctor: 2 warnings, 3 errors',
    )

  program
    .command('run')
    .description('run the daemon in the foreground')
    .addOption(
      new Option('-c, --config <file>', 'configuration (YAML)').default(DEFAULT_CONFIG).conflicts('keepalived'),
    )
    .option('-f, --keepalived <file>', "keepalived's configuration instead, as it is")
    .option('--keepalived-socket <path>', 'with -f: a unix socket that takes the lines reload and stop')
    .option('--realtime [priority]', 'real-time priority for the engine, one more for the guardian (which takes it)')
    .option('--core', 'allow a core dump of the engine (taken by the guardian)')
    .option('--force', 'run beside a keepalived that speaks VRRP in this network namespace')
    .action(async ({ config, keepalived: file, keepalivedSocket: socket, core = false, force = false }: RunWords) => {
      const { runCommand } = await import('./run.ts')
      const reading = { configId: undefined, allFiles: false }
      const keepalived = { reading, socket, pidFile: undefined, vrrpPidFile: undefined, warnings: [] }
      status = await runCommand(file ?? config, { core, force, ...(file === undefined ? {} : { keepalived }) })
    })

  program
    .command('check')
    .description('validate a configuration; every problem as file:line:column; exit 0 or 78')
    .argument('<file>')
    .option('--json', 'as JSON')
    .option('--node', 'also against the interfaces and addresses of this node')
    .option('-f, --keepalived', "it is keepalived's, also where it does not look like that")
    .action(async (file: string, options: { json?: boolean; node?: boolean; keepalived?: boolean }) => {
      const { checkCommand } = await import('./check.ts')
      const json = options.json === true
      const keepalived = options.keepalived === true
      if (options.node !== true) return print(await checkCommand(file, { json, keepalived }))
      const { vrrpBeside } = await import('./vrrp-beside.ts')
      // Whoever else speaks VRRP here may be the very daemon whose next configuration this is.
      const { refusal } = vrrpBeside(false)
      const beside = refusal === undefined ? [] : [refusal]
      print(await checkCommand(file, { json, keepalived, node: await thisNode(), beside }))
    })

  program
    .command('convert')
    .description("print a keepalived file as holdfast's YAML, and what was not carried over; exit 0 or 78")
    .argument('<file>')
    .option('-i, --config-id <name>', 'what @name lines are compared with (default: the host name)')
    .action(async (file: string, options: { configId?: string }) => {
      const { convertCommand } = await import('./convert.ts')
      print(await convertCommand(file, options.configId))
    })

  program
    .command('status')
    .description('who holds the addresses, and why')
    .option('-s, --socket <path>', 'control socket of the daemon', DEFAULT_SOCKET)
    .option('--json', 'as JSON')
    .action(async (options: { socket: string; json?: boolean }) => {
      const { statusCommand } = await import('./status.ts')
      print(await statusCommand(options.socket, { json: options.json === true }))
    })

  program
    .command('yield')
    .description('hand the addresses of a virtual router to another node, and stay behind it for a while')
    .argument('<router>', 'name of the virtual router; its whole sync group yields')
    .option('-s, --socket <path>', 'control socket of the daemon', DEFAULT_SOCKET)
    .option('--for <duration>', 'how long its priority is 1', '60s')
    .action(async (router: string, options: { socket: string; for: string }) => {
      const { yieldCommand } = await import('./yield.ts')
      print(await yieldCommand(options.socket, router, options.for))
    })

  program
    .command('reload')
    .description('read the configuration again; exit 78 when it is wrong, then the one in force is kept')
    .option('-s, --socket <path>', 'control socket of the daemon', DEFAULT_SOCKET)
    .option('--json', 'as JSON')
    .action(async (options: { socket: string; json?: boolean }) => {
      const { reloadCommand } = await import('./reload.ts')
      print(await reloadCommand(options.socket, { json: options.json === true }))
    })

  program
    .command('stop')
    .description('leave as on SIGTERM; returns when the daemon has left')
    .option('-s, --socket <path>', 'control socket of the daemon', DEFAULT_SOCKET)
    .action(async (options: { socket: string }) => {
      const { stopCommand } = await import('./stop.ts')
      print(await stopCommand(options.socket))
    })

  program
    .command('capture')
    .description('who speaks VRRP, ARP and Neighbor Discovery here, live, with the reason why a packet is discarded')
    .option('-i, --interface <name>', 'where to listen (default: the only interface with an address)')
    .option('--json', 'one JSON object a line')
    .option('-w, --write <file>', 'also into a pcap file')
    .option('-n, --count <lines>', 'end after so many lines', wholeNumber)
    .action(async (options: { interface?: string; json?: boolean; write?: string; count?: number }) => {
      const { captureCommand } = await import('./capture.ts')
      const { write, count, json = false } = options
      const { close, look } = await interfaces()
      status = await captureCommand({ interfaceName: options.interface, write, count, json }, look)
      close()
    })

  program
    .command('doctor')
    .description('measure this machine and its networks: what is wrong, and how short an interval is safe')
    .argument('[file]', "configuration, YAML or keepalived's; without one the machine alone")
    .option(
      '-i, --interface <name>',
      'also look at this interface; may be repeated',
      (name: string, all: string[]) => [...all, name],
      [],
    )
    .option('-f, --keepalived', "the file is keepalived's, also where it does not look like that")
    .option('-d, --duration <time>', 'how long to measure (default: 5s, or 3 of the intervals of the file)')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      '\nExit status: 0 nothing worse than a note, 2 warnings, 3 errors, 1 it could not be done, 64 usage, 78 configuration.' +
        '\nHarmless beside a running daemon: no advertisement is sent, no address changed (docs/doctor.md).',
    )
    .action(async (file: string | undefined, options: DoctorWords) => {
      const { doctorCommand } = await import('./doctor.ts')
      const { duration, interface: interfaces, json = false, keepalived = false } = options
      print(await doctorCommand({ file, keepalived, interfaces, json, duration }))
    })

  program
    .command('doctor-timer', { hidden: true })
    .argument('<ms>')
    .action(async (ms: string) => {
      const { measureTimer } = await import('./doctor-timer.ts')
      process.stdout.write(JSON.stringify(await measureTimer(Number(ms))))
    })

  program
    .command('capture-child', { hidden: true })
    .argument('<interface>')
    .action(async (device: string) => {
      const { captureChild } = await import('./capture-child.ts')
      status = await captureChild(device)
    })

  program
    .command('demo')
    .description('three nodes in network namespaces, one failover, measured')
    .action(async () => {
      const { demoCommand } = await import('./demo.ts')
      status = await demoCommand()
    })

  program
    .command('schema')
    .description("the configuration's JSON Schema")
    .action(async () => {
      const { schemaCommand } = await import('./schema.ts')
      print(schemaCommand())
    })

  try {
    await program.parseAsync([...argv], { from: 'user' })
  } catch (error) {
    // --help and --version end the same way as a wrong word; commander has printed already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
    if (!isWorldsFault(error)) throw error
    process.stderr.write(`holdfast: ${error.message}\n`)
    return EXIT.failure
  }
  return status
}

/** No addon for this machine, a system call that failed: one line. Ours is a crash with its stack. */
function isWorldsFault(error: unknown): error is Error {
  return error instanceof Error && (('code' in error && error.code === 'ERR_NATIVE_ADDON') || 'syscall' in error)
}

function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('a whole number of lines wanted')
  return Number(text)
}

/** The interfaces of this network namespace, asked for as often as `look` is called. */
async function interfaces() {
  const { openClock } = await import('../linux/clock.ts')
  const { loadNative } = await import('../linux/native.ts')
  const { openNetwork } = await import('../linux/network.ts')
  const { captureInterfaces } = await import('./capture-interface.ts')
  const native = loadNative()
  const network = openNetwork(native, openClock(native))
  return { look: () => captureInterfaces(network), close: () => network.close() }
}

async function thisNode() {
  const { openClock } = await import('../linux/clock.ts')
  const { loadNative } = await import('../linux/native.ts')
  const { openNetwork } = await import('../linux/network.ts')
  const { nodeView } = await import('./node.ts')
  const native = loadNative()
  const network = openNetwork(native, openClock(native))
  try {
    return nodeView(network)
  } finally {
    network.close()
  }
}
