/**
 * `keepalived`: what bin/holdfast is when it is started under that name (or as `holdfast keepalived`): keepalived's
 * flags, answers and exit statuses in front of the daemon that `holdfast run -f` starts. Decided here: what each order
 * of the command line leads to (docs/adr/0030). Refuses to know the flags and the file.
 */
import { closeSync, constants, openSync, writeSync } from 'node:fs'
import { EXIT } from '../app/exit-code.ts'
import { VERSION } from '../app/version.ts'
import { keepalivedTest } from '../keepalived/config-test.ts'
import { type KeepalivedOrder, keepalivedHelp, keepalivedOrder, type RunOrder, SIGNALS } from '../keepalived/flags.ts'

/** Whose file and whose flags these are: tools that ask look for a number that they know. */
const SPOKEN = '2.2.7'
const PID_FILES = { pidFile: '/run/keepalived.pid', vrrpPidFile: '/run/vrrp.pid' }
/** Where a cluster's monitor looks for it. */
const SOCKET = '/var/run/keepalived/keepalived.sock'
const FIRST_PROCESS = 1
/** Exit status of keepalived 2.2.7 at a configuration that it refuses (KEEPALIVED_EXIT_CONFIG). */
const REFUSED = 2

/** Returns the exit status. */
export async function keepalivedCommand(argv: readonly string[]): Promise<number> {
  return carryOut(keepalivedOrder(argv))
}

async function carryOut(order: KeepalivedOrder): Promise<number> {
  switch (order.do) {
    case 'refuse':
      process.stderr.write(`keepalived: ${order.message}\n(this is holdfast ${VERSION}; --help shows what it takes)\n`)
      return EXIT.failure
    case 'help':
      process.stderr.write(keepalivedHelp())
      return EXIT.ok
    case 'version':
      process.stderr.write(`Keepalived v${SPOKEN} is what this speaks: it is holdfast ${VERSION} in its place\n`)
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
      // Where the container has a script around its keepalived, the socket is that script's.
      socket: order.socket ?? (process.ppid === FIRST_PROCESS ? SOCKET : undefined),
      warnings,
    },
  })
  return status === EXIT.configuration ? REFUSED : status
}

/** Like keepalived: added to what is there. Not through a link that somebody has put in its place. */
function append(file: string, text: string): void {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW
  const descriptor = openSync(file, flags, 0o644)
  try {
    writeSync(descriptor, text)
  } finally {
    closeSync(descriptor)
  }
}
