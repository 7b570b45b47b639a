/** `holdfast configure`: options. */
import { type Register, socketOption } from '../command.ts'

type Options = { socket: string; by: string; revision?: string; json?: boolean }

export const registerConfigure: Register = (program, end) => {
  program
    .command('configure')
    .description('hand a complete configuration to a daemon that was started with --managed; exit 78 when it is wrong')
    .argument('<file>', 'YAML or JSON; - is standard input')
    .addOption(socketOption())
    .option('--by <name>', 'who hands it over, for status and journal', 'holdfast configure')
    .option('--revision <text>', 'which one it is, in your words')
    .option('--json', 'as JSON')
    .action(async (file: string, { json = false, ...options }: Options) => {
      const { configureCommand } = await import('../configure.ts')
      end(await configureCommand(file, { ...options, json }))
    })
}
