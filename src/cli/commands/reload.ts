/** `holdfast reload`: options. */
import { type Register, socketOption } from '../command.ts'

type Options = { socket: string; dryRun?: boolean; json?: boolean }

export const registerReload: Register = (program, end) => {
  program
    .command('reload')
    .description('read the configuration again; exit 78 when it is wrong, then the one in force is kept')
    .addOption(socketOption())
    .option('--dry-run', 'only show what would change')
    .option('--json', 'as JSON')
    .action(async ({ dryRun = false, json = false, socket }: Options) => {
      const { reloadCommand } = await import('../reload.ts')
      end(await reloadCommand(socket, { json, dryRun }))
    })
}
