/**
 * `holdfast keepalived`, also under the program name `keepalived`: accepts keepalived's flags and gives its answers and
 * exit statuses. The command starts the daemon as `holdfast run -f` does. This file decides what each request on the
 * command line does (docs/adr/0030). Flags are parsed in src/keepalived/flags.ts.
 */
import { closeSync, constants, openSync, writeSync } from 'node:fs'
import { EXIT } from '../app/exit-code.ts'
import { VERSION } from '../app/version.ts'
import { keepalivedTest } from '../keepalived/config-test.ts'
import { type KeepalivedOrder, keepalivedHelp, keepalivedOrder, type RunOrder, SIGNALS } from '../keepalived/flags.ts'

/** Version of keepalived whose configuration file and flags holdfast implements. Tools read this number. */
const SPOKEN = '2.2.7'
const PID_FILES = { pidFile: '/run/keepalived.pid', vrrpPidFile: '/run/vrrp.pid' }
/** Path at which the monitor of an OpenShift node expects the socket. */
const SOCKET = '/var/run/keepalived/keepalived.sock'
const FIRST_PROCESS = 1
/** Exit status with which keepalived 2.2.7 refuses a configuration (KEEPALIVED_EXIT_CONFIG). */
const REFUSED = 2

/** Executes a command line of keepalived. Returns the exit status. */
export async function keepalivedCommand(argv: readonly string[]): Promise<number> {
  return carryOut(keepalivedOrder(argv))
}

async function carryOut(order: KeepalivedOrder): Promise<number> {
  switch (order.do) {
    case 'refuse':
      process.stderr.write(`keepalived: ${order.message}\n(this is holdfast ${VERSION}; --help shows its flags)\n`)
      return EXIT.failure
    case 'help':
      process.stderr.write(keepalivedHelp())
      return EXIT.ok
    case 'version':
      process.stderr.write(`Keepalived v${SPOKEN} (compatible; this is holdfast ${VERSION})\n`)
      return EXIT.ok
    case 'signum': {
      const number = SIGNALS[order.name]
      if (number !== undefined) process.stdout.write(`${number}\n`)
      else process.stderr.write(`Unknown sigfunc ${order.name}\n`)
      return number === undefined ? EXIT.failure : EXIT.ok
    }
    case 'test': {
      const { lines, exitCode } = await keepalivedTest(order.file, order)
      const text = lines.map((line) => `${line}\n`).join('')
      if (order.log === undefined) process.stderr.write(text)
      else append(order.log, text)
      return exitCode
    }
    case 'run':
      return run(order)
  }
}

async function run(order: RunOrder): Promise<number> {
  const { runCommand } = await import('../app/run.ts')
  const { api, file, core, force, configId, allFiles, warnings } = order
  const status = await runCommand(file, {
    core,
    force,
    keepalived: {
      reading: { configId, allFiles, api },
      pidFile: order.pidFile ?? PID_FILES.pidFile,
      vrrpPidFile: order.vrrpPidFile ?? PID_FILES.vrrpPidFile,
      // If the parent is not PID 1, a script of the container serves keepalived's socket itself.
      socket: order.socket ?? (process.ppid === FIRST_PROCESS ? SOCKET : undefined),
      warnings,
    },
  })
  return status === EXIT.configuration ? REFUSED : status
}

/** Appends text to a file, as keepalived does. Does not follow a symbolic link. */
function append(file: string, text: string): void {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW
  const descriptor = openSync(file, flags, 0o644)
  try {
    writeSync(descriptor, text)
  } finally {
    closeSync(descriptor)
  }
}
