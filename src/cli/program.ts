/**
 * The command line: finds the command for the arguments, and turns its result into output and an exit status. The
 * commands register themselves (commands/). The code of a command is loaded when the command is called, so `run` does
 * not load the other commands.
 */
import { Command, CommanderError } from 'commander'
import { EXIT } from '../app/exit-code.ts'
import { VERSION_AND_COMMIT } from '../app/version.ts'
import type { CommandResult, End, Register } from './command.ts'
import { registerAgent, registerMonitor, registerOperator } from './commands/agent.ts'
import { registerCapture } from './commands/capture.ts'
import { registerCheck } from './commands/check.ts'
import { registerConfigure } from './commands/configure.ts'
import { registerConvert } from './commands/convert.ts'
import { registerDemo } from './commands/demo.ts'
import { registerDoctor } from './commands/doctor.ts'
import { registerEvents } from './commands/events.ts'
import { registerExplain } from './commands/explain.ts'
import { registerNodeIp } from './commands/node-ip.ts'
import { registerReload } from './commands/reload.ts'
import { registerResolvPrepender } from './commands/resolv-prepender.ts'
import { registerRun } from './commands/run.ts'
import { registerCorednsMonitor, registerRuntimecfg } from './commands/runtimecfg.ts'
import { registerSchema } from './commands/schema.ts'
import { registerSimulate } from './commands/simulate.ts'
import { registerStatus } from './commands/status.ts'
import { registerStop, registerUpgrade } from './commands/stop.ts'
import { registerVrid } from './commands/vrid.ts'
import { registerYield } from './commands/yield.ts'

/** Commands of holdfast, in the order in which the help shows them. */
const COMMANDS: readonly Register[] = [
  ...[registerRun, registerCheck, registerConvert],
  ...[registerStatus, registerEvents, registerExplain],
  ...[registerYield, registerReload, registerConfigure, registerUpgrade, registerStop],
  ...[registerCapture, registerDoctor, registerDemo, registerSimulate],
  ...[registerVrid, registerNodeIp, registerRuntimecfg, registerAgent, registerMonitor, registerCorednsMonitor],
  ...[registerOperator, registerResolvPrepender, registerSchema],
]

const agent = async (argv: readonly string[]) => (await import('./agent/agent.ts')).agentCommand(argv)

/** Commands whose flags are those of another program, so they parse the arguments themselves. */
const OWN_FLAGS: Readonly<Record<string, (argv: readonly string[]) => Promise<CommandResult | number>>> = {
  keepalived: async (argv) => (await import('./keepalived.ts')).keepalivedCommand(argv),
  agent,
  dynkeepalived: agent,
  runtimecfg: async (argv) => (await import('./runtimecfg/runtimecfg.ts')).runtimecfgCommand(argv, main),
  corednsmonitor: async (argv) => (await import('./dns/monitor.ts')).corednsMonitorCommand(argv),
  operator: async (argv) => (await import('./operator/operator.ts')).operatorCommand(argv),
  monitor: async (argv) => (await import('./monitor/monitor.ts')).monitorCommand(argv),
}

/** Commands that change nothing. Only these are suggested for a misspelt command. */
const HARMLESS = ['check', 'convert', 'status', 'events', 'explain', 'capture', 'doctor', 'simulate', 'vrid', 'schema']

const AFTER_HELP = `
First steps: holdfast demo, then check FILE, doctor FILE and run -c FILE with a file of your own.
Something is wrong: status, explain and doctor on each node (docs/troubleshooting.md).

Exit status: 0 ok, 1 failure, 64 usage, 69 daemon not reachable,
70 upgrade refused by the new program, 77 missing privilege, 78 configuration;
doctor: 2 warnings, 3 errors; upgrade: 2 replaced, but without an address`

/** Runs the command line. Returns the exit status. */
export async function main(argv: readonly string[]): Promise<number> {
  let status: number = EXIT.ok
  let printed: Promise<unknown> = Promise.resolve()
  const end: End = (result) => {
    status = typeof result === 'number' ? result : result.exitCode
    if (typeof result !== 'number') printed = print(result)
  }
  const [first = ''] = argv
  const command = Object.hasOwn(OWN_FLAGS, first) ? OWN_FLAGS[first] : undefined
  if (command !== undefined) {
    end(await command(argv.slice(1)))
    await printed
    return status
  }
  try {
    await programWith(end).parseAsync([...argv], { from: 'user' })
  } catch (error) {
    // commander ends --help and --version in the same way as a usage error, and has printed already.
    if (error instanceof CommanderError) {
      if (error.code === 'commander.unknownCommand') await suggestCommand(first)
      return error.exitCode === 0 ? EXIT.ok : EXIT.usage
    }
    if (!isSystemFailure(error)) throw error
    process.stderr.write(`holdfast: ${error.message}\n`)
    return EXIT.failure
  }
  await printed
  return status
}

function programWith(end: End): Command {
  const program = new Command('holdfast')
    .description('Keeps virtual IP addresses on exactly one healthy node of a LAN (VRRPv3, RFC 9568)')
    .version(VERSION_AND_COMMIT)
    .exitOverride()
    .showHelpAfterError('(holdfast --help shows the commands)')
    .addHelpText('after', AFTER_HELP)
  for (const register of COMMANDS) register(program, end)
  // The call that handles the arguments comes last. The commands exist already and keep their suggestions for options.
  program.showSuggestionAfterError(false)
  return program
}

const print = ({ stdout, stderr }: CommandResult): Promise<unknown> =>
  Promise.all([write(process.stdout, stdout), write(process.stderr, stderr)])

/**
 * Resolves when the reader has taken the text, or has ended. If the process exited before, all text that a pipe does
 * not hold would be lost.
 */
function write(stream: NodeJS.WriteStream, text: string): Promise<void> {
  if (text === '') return Promise.resolve()
  return new Promise((resolve) => {
    stream.once('error', () => resolve())
    stream.write(text, () => resolve())
  })
}

async function suggestCommand(word: string): Promise<void> {
  const { nearestWord } = await import('../config/text/spelling.ts')
  const meant = nearestWord(word, HARMLESS)
  if (meant !== undefined) process.stderr.write(`(Did you mean ${meant}?)\n`)
}

/**
 * Tells whether the machine caused the error: no native addon, or a failed system call. An error of the machine is
 * printed in one line, without a stack.
 */
function isSystemFailure(error: unknown): error is Error {
  return error instanceof Error && (('code' in error && error.code === 'ERR_NATIVE_ADDON') || 'syscall' in error)
}
