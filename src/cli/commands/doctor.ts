/** `holdfast doctor`: options. This file also has the hidden command that doctor starts to measure timers. */
import { type Register, repeated, socketOption } from '../command.ts'

type Options = {
  interface?: string[]
  keepalived?: boolean
  duration?: string
  json?: boolean
  socket: string
  verbose?: boolean
}

export const registerDoctor: Register = (program, end) => {
  program
    .command('doctor')
    .description('check this machine and its networks for problems, and measure how short an interval is safe')
    .argument('[file]', "configuration, YAML or keepalived's; without a file, doctor checks only the machine")
    .option('-i, --interface <name>', 'also check this interface; may be repeated', repeated)
    .option('-f, --keepalived', "read the file as keepalived's")
    .option('-d, --duration <time>', 'time to measure (default: 5s, or 3 advertisement intervals of the file)')
    .option('-v, --verbose', 'also print what is ok')
    .option('--json', 'print JSON')
    .addOption(socketOption())
    .addHelpText(
      'after',
      '\nExit status: 0 at most notes, 2 warnings, 3 errors, 1 doctor could not run, 64 usage, 78 configuration.' +
        '\nHarmless beside a running daemon: no advertisement is sent, no address changed (docs/doctor.md).',
    )
    .action(async (file: string | undefined, options: Options) => {
      const { doctorCommand } = await import('../doctor/doctor.ts')
      const { duration, interface: interfaces = [], socket } = options
      const { json = false, keepalived = false, verbose = false } = options
      end(await doctorCommand({ file, keepalived, interfaces, json, socket, verbose, duration }))
    })

  program
    .command('doctor-timer', { hidden: true })
    .argument('<ms>')
    .action(async (ms: string) => {
      const { measureTimer } = await import('../doctor/doctor-timer.ts')
      process.stdout.write(JSON.stringify(await measureTimer(Number(ms))))
    })
}
