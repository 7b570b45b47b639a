/** `holdfast doctor`: options; and the program that it starts to measure timers. */
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
    .description('measure this machine and its networks: what is wrong, and how short an interval is safe')
    .argument('[file]', "configuration, YAML or keepalived's; without one the machine alone")
    .option('-i, --interface <name>', 'also look at this interface; may be repeated', repeated)
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
