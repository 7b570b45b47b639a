/** `holdfast configure`: options. */
import { type Register, socketOption } from '../command.ts'

type Options = { socket: string; by: string; revision?: string; json?: boolean }

export const registerConfigure: Register = (program, end) => {
  program
    .command('configure')
    .description('hand a complete configuration to a daemon that was started with --managed; exit 78 if it is invalid')
    .argument('<file>', 'YAML or JSON; - is standard input')
    .addOption(socketOption())
    .option('--by <name>', 'name of the sender, for status and journal', 'holdfast configure')
    .option('--revision <text>', 'revision of the configuration, any text')
    .option('--json', 'print JSON')
    .action(async (file: string, { json = false, ...options }: Options) => {
      const { configureCommand } = await import('../configure.ts')
      end(await configureCommand(file, { ...options, json }))
    })
}
